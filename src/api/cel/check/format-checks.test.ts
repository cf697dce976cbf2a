import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Environment } from '#api/cel/environment.ts'
import { kubernetesLibraries } from '#api/cel/libraries.ts'
import { dyn, int, string } from '#api/cel/types/cel-type.ts'

const environment = new Environment({ libraries: kubernetesLibraries, variables: { any: dyn, text: string, number: int } })

function firstLine(expression: string): string {
  try {
    environment.compile(expression)
    return ''
  } catch (error) {
    return (error as Error).message.split('\n')[0] ?? ''
  }
}

const cases: readonly (readonly [expression: string, answer: string])[] = [
  ["'%d'.format([text])", 'ERROR: <input>:1:14: error during formatting: decimal clause can only be used on integers, was given string'],
  ["'%s %s'.format([text])", 'ERROR: <input>:1:15: index 1 out of range'],
  ["'%z'.format([1])", 'ERROR: <input>:1:12: could not parse formatting clause: unrecognized formatting clause "z"'],
  ["'%s'.format([1, 2])", 'ERROR: <input>:1:12: too many arguments supplied to string.format (expected 1, got 2)'],
  [
    "'%x'.format([timestamp('2020-01-01T00:00:00Z')])",
    'ERROR: <input>:1:23: error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given google.protobuf.Timestamp',
  ],
  [
    "'%s'.format([[quantity('1')]])",
    'ERROR: <input>:1:23: error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given kubernetes.Quantity',
  ],
  ["'%d%% of %s, %.2f'.format([number, {'a': [any]}, any])", ''],
  ['text.format([number])', ''],
  ["'%d %d'.format(any)", ''],
]

for (const [expression, answer] of cases) {
  test(`${expression} ${answer === '' ? 'may be right' : 'is refused before it runs'}`, () => {
    assert.equal(firstLine(expression), answer)
  })
}
