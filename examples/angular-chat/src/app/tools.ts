import { inject } from '@angular/core';
import * as t from 'io-ts';
import { concatMap, delay, from, of } from 'rxjs';
import { describe, tool, ToolError } from 'rx-tool-runner';
import { injectTools } from 'rx-tool-runner/angular';
import { Workspace } from './workspace';

/** Tools that a person is asked about before they run. */
export const destructive: ReadonlySet<string> = new Set(['delete_file']);

const skies = ['sunny', 'cloudy', 'light rain', 'windy'];

/** Not much of a forecast: the same for a place each time. */
const forecast = (place: string): string => {
  const sum = Array.from(place).reduce((total, letter) => total + (letter.codePointAt(0) ?? 0), 0);
  return `${skies[sum % skies.length] ?? ''}, ${(sum % 25) + 5} °C`;
};

export const injectChatTools = () =>
  injectTools(() => {
    const workspace = inject(Workspace);

    const getWeather = tool({
      name: 'get_weather',
      description: 'Get the current weather in a given location',
      input: t.strict({ location: describe(t.string, 'The city, e.g. San Francisco') }),
      // All but the last value are progress.
      run: ({ location }) =>
        from(['Looking for a station nearby…', 'Reading its sensors…', forecast(location)]).pipe(
          concatMap((words, step) => of(words).pipe(delay(step === 0 ? 50 : 450))),
        ),
    });

    const readFile = tool({
      name: 'read_file',
      description: 'Read a file of the workspace and return its text',
      input: t.strict({ path: describe(t.string, 'Name of the file, e.g. notes.txt') }),
      run: ({ path }) => {
        const text = workspace.read(path);
        if (text === undefined) throw new ToolError(`There is no file ${path}.`);
        return text;
      },
    });

    const deleteFile = tool({
      name: 'delete_file',
      description: 'Delete a file of the workspace; it cannot be undone',
      input: t.strict({ path: describe(t.string, 'Name of the file, e.g. notes.txt') }),
      run: ({ path }) => {
        if (!workspace.delete(path)) throw new ToolError(`There is no file ${path}.`);
        return `Deleted ${path}.`;
      },
    });

    const calculateSum = tool({
      name: 'calculate_sum',
      description: 'Add two numbers together',
      input: t.strict({ a: describe(t.number, 'First number'), b: describe(t.number, 'Second number') }),
      run: ({ a, b }) => String(a + b),
    });

    return [getWeather, readFile, deleteFile, calculateSum];
  });
