import * as t from 'io-ts';
import { delay, of } from 'rxjs';
import { describe, tool, withDefault } from 'rx-tool-runner';

export const getWeather = tool({
  name: 'get_weather',
  description: 'Get the current weather in a given location',
  input: t.type({
    location: describe(t.string, 'The city and state, e.g. San Francisco, CA'),
    unit: describe(withDefault(t.keyof({ celsius: null, fahrenheit: null }), 'celsius'), 'Temperature unit'),
  }),
  // An Observable, as from a sensor or a socket; it takes a moment, and cancelling the run unsubscribes it.
  run: ({ unit }) => of(`sunny, ${unit === 'celsius' ? '20 °C' : '68 °F'}`).pipe(delay(400)),
});

export const calculateSum = tool({
  name: 'calculate_sum',
  description: 'Add two numbers together',
  input: t.type({ a: describe(t.number, 'First number'), b: describe(t.number, 'Second number') }),
  run: ({ a, b }) => String(a + b),
});
