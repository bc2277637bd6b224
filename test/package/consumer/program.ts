import * as api from 'rx-tool-runner';

console.log(Object.keys(api).length >= 0 ? 'done' : '');
