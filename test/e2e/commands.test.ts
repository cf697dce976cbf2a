import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { commands } from '#cmd/commands.ts'
import { version } from '#cmd/version.ts'

const repository = join(import.meta.dirname, '..', '..')

function typernetes(...args: string[]) {
  return spawnSync(process.execPath, [join(repository, 'bin/typernetes.js'), ...args], { encoding: 'utf8' })
}

for (const [line, signal, ending] of [
  ['get pods -w', 'SIGINT', { code: 1, signal: null }],
  ['get pods -w', 'SIGTERM', { code: 1, signal: null }],
  ['api-versions', 'SIGINT', { code: null, signal: 'SIGINT' }],
  ['api-versions', 'SIGTERM', { code: null, signal: 'SIGTERM' }],
] as const)
  test(`kubectl ${line} ends on ${signal} as kubectl does, though the server says nothing`, { timeout: 120_000 }, async (t) => {
    const server = createServer(() => {}).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const words = ['kubectl', ...line.split(' '), '-s', `http://127.0.0.1:${port}`, '--kubeconfig=/dev/null', '--cache-dir=/nonexistent']
    const asked = once(server, 'request')
    const child = spawn(process.execPath, [join(repository, 'bin/typernetes.js'), ...words], { stdio: ['pipe', 'ignore', 'inherit'] })
    t.after(() => {
      child.kill('SIGKILL')
      server.closeAllConnections()
      server.close()
    })
    const ended = once(child, 'exit')
    await asked
    child.kill(signal)
    const [code, endedBy] = await ended
    assert.deepEqual({ code, signal: endedBy }, ending)
  })

test('the version is the one of the package', () => {
  const { version: packaged } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string }
  assert.equal(version, packaged)
  assert.match(typernetes('version').stdout, new RegExp(`^typernetes ${packaged.replaceAll('.', '\\.')} `))
})

test('the help names every command', () => {
  const { stdout, status } = typernetes('--help')
  assert.equal(status, 0)
  for (const { name } of commands) assert.match(stdout, new RegExp(`^ +${name} `, 'm'))
})

test('the help of up names its flags and their environment variables', () => {
  const { stdout } = typernetes('up', '--help-all')
  for (const part of ['--data-dir', '--api-port', '--store', 'TYPERNETES_API_PORT', '--legacy-apis', '--service-cluster-ip-range'])
    assert.ok(stdout.includes(part), part)
})

for (const [args, complaint] of [
  [['nope'], /^typernetes: unknown command 'nope'/],
  [['up', '--nope'], /^typernetes: unknown option '--nope'/],
  [['up', '--api-port', 'many'], /^typernetes: option '--api-port <N>' argument 'many' is invalid\. It is not a whole number/],
  [
    ['up', '--data-dir', '/proc/typernetes'],
    /^typernetes: --data-dir: cannot write to \/proc\/typernetes \(.*\); choose another directory\n$/,
  ],
  [['up', '-d', '--data-dir', '/proc/typernetes'], /^typernetes: --data-dir: cannot write to \/proc\/typernetes/],
  [['up', '--data-dir', join(repository, 'package.json', 'x')], /^typernetes: --data-dir: cannot write to .*package.json.*\n$/],
  [['up', '--runtime', 'none', '--store', 'paper', '--data-dir', join(repository, '.cache', 'nowhere')], /^typernetes: .*paper/],
] as const) {
  test(`${args.slice(0, 3).join(' ')} ends in one line that says what is wrong`, () => {
    const { status, stderr } = typernetes(...args)
    assert.notEqual(status, 0)
    assert.match(stderr, complaint)
  })
}
