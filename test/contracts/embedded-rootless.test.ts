/** The runtime interface over the embedded runtime, in a user namespace of a user who is not root. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { plainUser, whyNoPlainUser } from '../support/plain-user.ts'

const namespaces = ['unshare', '--user', '--map-root-user', '--mount', '--net', '--ipc', '--uts']

test('containers by the embedded runtime without root', { skip: whyNoPlainUser(), timeout: 280_000 }, async (context) => {
  const home = mkdtempSync(join(tmpdir(), 'tn-rootless-'))
  chownSync(home, plainUser.uid, plainUser.uid)
  try {
    const { NODE_TEST_CONTEXT: _test, NODE_COMPILE_CACHE: _cache, ...environment } = process.env
    const suite = join(import.meta.dirname, 'embedded-runtime.test.ts')
    const [program, ...args] = [...plainUser.prefix, ...namespaces, 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']
    const child = spawn(program, [...args, process.execPath, '--test', '--test-reporter=tap', suite], {
      env: { ...environment, HOME: home, PATH: `${process.env['PATH']}:/usr/sbin:/sbin` },
      cwd: home,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (said += text))
    const code = await new Promise((resolve) => child.on('close', resolve))
    assert.equal(code, 0, said)
    const [, whySkipped] = /^ok 1 - .* # SKIP (.*)$/m.exec(said) ?? []
    if (whySkipped !== undefined) return context.skip(whySkipped)
    assert.match(said, /^# pass 1\d$/m, said)
  } finally {
    rmSync(home, { recursive: true, force: true, maxRetries: 20 })
  }
})
