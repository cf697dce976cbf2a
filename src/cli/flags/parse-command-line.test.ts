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
  [
    'create priorityclass x --value=2147483648',
    'error: invalid argument "2147483648" for "--value" flag: strconv.ParseInt: parsing "2147483648": value out of range\nSee \'kubectl create priorityclass --help\' for usage.',
  ],
  [
    'create clusterrole x --aggregation-rule=a',
    'error: invalid argument "a" for "--aggregation-rule" flag: malformed pair, expect string=string\nSee \'kubectl create clusterrole --help\' for usage.',
  ],
  [
    'debug p --set-image=bad',
    'error: invalid argument "bad" for "--set-image" flag: bad must be formatted as key=value\nSee \'kubectl debug --help\' for usage.',
  ],
  [
    'debug p --env=A=b,c,D=e',
    'error: invalid argument "A=b,c,D=e" for "--env" flag: c must be formatted as key=value\nSee \'kubectl debug --help\' for usage.',
  ],
  ['get -h --nosuch', "error: unknown flag: --nosuch\nSee 'kubectl get --help' for usage."],
] as const)
  test(`kubectl ${line} is refused in kubectl's words`, () => assert.throws(() => parsed(line), { message: complaint }))

test('help before the name of a command is that of kubectl itself', () => {
  assert.deepEqual([parsed('--help get').command.path, parsed('--help get').wantsHelp], ['', true])
  assert.deepEqual([parsed('get --help').command.path, parsed('get --help').wantsHelp], ['get', true])
})

test('pairs are split at commas where there are several, and one may hold them', () => {
  assert.deepEqual(parsed('debug p --env=A=b,c').flags.list('env'), ['A=b,c'])
  assert.deepEqual(parsed('debug p --env=A=b,C=d --env=E=f').flags.list('env'), ['A=b', 'C=d', 'E=f'])
})

test('a flag that will go is told of once', () => {
  const warnings: string[] = []
  parseCommandLine(['apply', '-f', 'x', '--record', '--record'], (text) => warnings.push(text))
  assert.deepEqual(warnings, ['Flag --record has been deprecated, --record will be removed in the future'])
})
