/** Names of a cluster asked for with dig: at the cluster itself, and at a name server alone. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../support/free-port.ts'
import { startCluster } from '../support/running-cluster.ts'

const skip = spawnSync('dig', ['-v']).status === 0 ? false : 'dig is not installed'
const main = join(import.meta.dirname, '..', '..', 'src/cmd/main.ts')
const dig = (port: number, ...args: string[]): string => {
  const { stdout } = spawnSync('dig', ['@127.0.0.1', '-p', String(port), '+tries=3', '+time=15', '+short', ...args], { encoding: 'utf8' })
  // Of tries that had no answer it tells among the answers.
  return stdout.replace(/^;.*\n/gm, '').trim()
}

test("a cluster's names are answered by UDP and TCP, in the cluster and alone, and a changed Corefile is taken over", {
  skip,
}, async () => {
  const [inside, alone] = [await freePort(), await freePort()]
  await using cluster = await startCluster(['--store', 'memory', '--dns-listen', `127.0.0.1:${inside}`])
  const name = 'kubernetes.default.svc.cluster.local'
  // The name server hears of services a moment after the cluster is there.
  const isHeard = (port: number) => {
    for (const endMs = performance.now() + 60_000; dig(port, name) !== '10.96.0.1' && performance.now() < endMs; );
  }
  isHeard(inside)
  for (const more of [[], ['+tcp']]) {
    assert.equal(dig(inside, name, ...more), '10.96.0.1')
    assert.equal(dig(inside, `_https._tcp.${name}`, 'SRV', ...more), `0 100 443 ${name}.`)
  }
  assert.equal(dig(inside, '-x', '10.96.0.1'), `${name}.`)

  const corefile = join(cluster.directory, 'Corefile')
  const withTtl = (seconds: number) =>
    `.:53 {\n kubernetes cluster.local {\n ttl ${seconds}\n }\n hosts {\n 192.0.2.${seconds} box.test\n fallthrough\n }\n reload\n}\n`
  writeFileSync(corefile, withTtl(7))
  const args = [main, 'dns', '--kubeconfig', cluster.kubeconfig, '--conf', corefile, '--listen', `127.0.0.1:${alone}`]
  const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    let output = ''
    await new Promise<void>((resolve, reject) => {
      server.stdout.on('data', (text: Buffer) => {
        output += text
        if (output.includes(`Names are served at 127.0.0.1:${alone}`)) resolve()
      })
      server.once('exit', (code) => reject(new Error(`it ended with ${code}: ${output}`)))
    })
    isHeard(alone)
    assert.equal(dig(alone, name), '10.96.0.1')
    assert.match(dig(alone, name, '+noshort', '+noall', '+answer'), /\s7\s+IN\s+A\s/)
    assert.equal(dig(alone, 'box.test'), '192.0.2.7')
    writeFileSync(corefile, withTtl(9))
    while (dig(alone, 'box.test') !== '192.0.2.9');
  } finally {
    if (server.exitCode === null && server.kill()) await once(server, 'exit')
  }
})
