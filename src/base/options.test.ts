import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import {
  addOptions,
  applySettings,
  Command,
  decimal,
  defineOptions,
  duration,
  environmentName,
  flagName,
  list,
  onOff,
  optionValues,
  text,
  wholeNumber,
  withSwitchValues,
} from '#base/options.ts'

const declared = defineOptions({
  dataDir: text('where', { placeholder: 'DIR', default: '/var' }),
  apiPort: wholeNumber('which port', { default: 6443, min: 0, max: 65_535 }),
  scheduler: onOff('run it', { default: true }),
  detach: onOff('leave it', { short: 'd', default: false }),
  controllers: list('which', { default: ['*'] }),
  runtime: text('how', { default: 'auto', choices: ['auto', 'sim'] }),
})

function parse(args: string[], file?: Record<string, unknown>) {
  const command = new Command('x').exitOverride().configureOutput({ writeErr() {} })
  addOptions(command, declared)
  command.parse(withSwitchValues(args, command), { from: 'user' })
  if (file !== undefined) applySettings(command, file, 'file')
  return optionValues(command, declared)
}

afterEach(() => {
  delete process.env['TYPERNETES_API_PORT']
})

test('one declaration gives the flag and the environment variable their names', () => {
  assert.equal(flagName('serviceClusterIpRange'), 'service-cluster-ip-range')
  assert.equal(environmentName('serviceClusterIpRange'), 'TYPERNETES_SERVICE_CLUSTER_IP_RANGE')
})

test('defaults hold where nothing is said', () => {
  assert.deepEqual(
    { ...parse([]) },
    { dataDir: '/var', apiPort: 6443, scheduler: true, detach: false, controllers: ['*'], runtime: 'auto' },
  )
})

test('flags take their values with a space or an equals sign; switches take true and false', () => {
  const values = parse(['--data-dir', '/x', '--api-port=1', '--scheduler=false', '-d', '--controllers', 'a,b', '--controllers=c'])
  assert.deepEqual(
    [values.dataDir, values.apiPort, values.scheduler, values.detach, values.controllers],
    ['/x', 1, false, true, ['a', 'b', 'c']],
  )
})

test('what follows a switch is not its value, unless it is true or false', () => {
  const command = new Command('x').argument('[name]')
  addOptions(command, declared)
  assert.deepEqual(withSwitchValues(['-d', 'lab', '--scheduler', 'false', '--detach'], command), [
    ...['--detach=true', 'lab', '--scheduler', 'false', '--detach=true'],
  ])
})

test('a flag goes before the environment, that before the file, that before the default', () => {
  assert.equal(parse([], { apiPort: 3 }).apiPort, 3)
  process.env['TYPERNETES_API_PORT'] = '2'
  assert.equal(parse([], { apiPort: 3 }).apiPort, 2)
  assert.equal(parse(['--api-port', '1'], { apiPort: 3 }).apiPort, 1)
})

for (const [args, complaint] of [
  [['--api-port', 'many'], /not a whole number/],
  [['--api-port', '-1'], /Allowed are whole numbers from 0 to 65535/],
  [['--runtime', 'docker'], /Allowed are auto, sim/],
  [['--scheduler=perhaps'], /neither true nor false/],
  [['--nope'], /unknown option/],
] as const) {
  test(`${args.join(' ')} is refused`, () => {
    assert.throws(() => parse([...args]), complaint)
  })
}

test('a key of the file that is no setting is an error that names it', () => {
  assert.throws(
    () => parse([], { apiPrt: 3 }),
    /^Error: file sets apiPrt, which is not a setting of this command; did you mean api-port\?$/,
  )
})

test('a file may spell settings as the flags are spelled, and is as strict as they are', () => {
  assert.equal(parse([], { 'api-port': 3 }).apiPort, 3)
  assert.deepEqual(parse([], { controllers: ['a', 'b,c'] }).controllers, ['a', 'b', 'c'])
  assert.throws(() => parse([], { runtime: 'docker' }), /^Error: file: runtime: docker: Allowed are auto, sim\.$/)
  assert.throws(() => parse([], { apiPort: 70_000 }), /file: apiPort: 70000: Allowed are whole numbers from 0 to 65535/)
})

test('the help names every flag, its default and its environment variable', () => {
  const command = new Command('x')
  addOptions(command, declared)
  const help = command.helpInformation()
  for (const part of ['--data-dir <DIR>', '/var', 'TYPERNETES_DATA_DIR', '-d, --detach', '--config <FILE>'])
    assert.ok(help.includes(part), `${part} in\n${help}`)
})

test('lengths of time are written as Go writes them', () => {
  const { kind } = duration('how long', { default: 0 })
  for (const [text, ms] of [
    ['30s', 30_000],
    ['1m30s', 90_000],
    ['500ms', 500],
    ['0', 0],
    ['1.5h', 5_400_000],
  ] as const) {
    assert.equal(kind.parse(text), ms, text)
  }
  for (const text of ['', '30', 's', '5 s', '1d']) assert.throws(() => kind.parse(text), /length of time/, text)
})

test('a rate need not be whole', () => {
  const { parse: read } = decimal('rate', { default: 0.1 }).kind
  assert.deepEqual(['0.01', '2', '.5', '1e-3'].map(read), [0.01, 2, 0.5, 0.001])
  for (const wrong of ['', 'much', '1,5', '0x10']) assert.throws(() => read(wrong), /not a number/)
})
