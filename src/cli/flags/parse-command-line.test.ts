import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCommandLine } from '#cli/flags/parse-command-line.ts'

const parsed = (line: string) => parseCommandLine(line.split(' '), () => {})

test('flags may stand before, between and after the words of a command', () => {
  const { command, flags, args } = parsed('-n apps get --output=yaml pods -l a=b web')
  assert.equal(command.path, 'get')
  assert.deepEqual(args, ['pods', 'web'])
  assert.deepEqual([flags.text('namespace'), flags.text('output'), flags.text('selector')], ['apps', 'yaml', 'a=b'])
})

test('short flags are joined, take their value with or without a blank, and booleans take none', () => {
  const { flags } = parsed('logs -fpc main web')
  assert.deepEqual([flags.isOn('follow'), flags.isOn('previous'), flags.text('container')], [true, true, 'main'])
  assert.equal(parsed('get pods -ojson').flags.text('output'), 'json')
  assert.equal(parsed('get pods -o=json').flags.text('output'), 'json')
})

test('subcommands and their aliases are found; what follows -- is left alone', () => {
  assert.equal(parsed('create cm a --from-literal=x=y').command.path, 'create configmap')
  assert.equal(parsed('config use x').command.path, 'config use-context')
  const { args, argsBeforeDash } = parsed('exec web -- ls -la --color')
  assert.deepEqual([args, argsBeforeDash], [['web', 'ls', '-la', '--color'], 1])
})

test('lists are split at commas where the flag says so, and may be repeated', () => {
  assert.deepEqual(parsed('get pods -L a,b -L c').flags.list('label-columns'), ['a', 'b', 'c'])
  assert.deepEqual(parsed('create configmap x --from-literal=a=1,2').flags.list('from-literal'), ['a=1,2'])
})

for (const [line, complaint] of [
  ['get pods --nosuch', "error: unknown flag: --nosuch\nSee 'kubectl get --help' for usage."],
  ['get -x', "error: unknown shorthand flag: 'x' in -x\nSee 'kubectl get --help' for usage."],
  ['get pods --output', "error: flag needs an argument: --output\nSee 'kubectl get --help' for usage."],
  [
    'scale --replicas=x',
    'error: invalid argument "x" for "--replicas" flag: strconv.ParseInt: parsing "x": invalid syntax\nSee \'kubectl scale --help\' for usage.',
  ],
] as const)
  test(`kubectl ${line} is refused in kubectl's words`, () => assert.throws(() => parsed(line), { message: complaint }))

test('a flag that will go is told of once', () => {
  const told: string[] = []
  parseCommandLine(['apply', '-f', 'x', '--record', '--record'], (text) => told.push(text))
  assert.deepEqual(told, ['Flag --record has been deprecated, --record will be removed in the future'])
})
