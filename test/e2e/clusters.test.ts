/** Several clusters of one user, by name, as somebody at a terminal uses them. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

const home = mkdtempSync(join(tmpdir(), 'tn home '))
after(() => rmSync(home, { recursive: true, force: true, maxRetries: 20 }))

const program = join(import.meta.dirname, '../../bin/typernetes.js')

function typernetes(...args: string[]) {
  const { KUBECONFIG: _kubeconfig, XDG_DATA_HOME: _data, ...environment } = process.env
  const env = { ...environment, HOME: home }
  const { stdout, stderr, status } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8', env, timeout: 180_000 })
  return { stdout, stderr, status }
}

/** Each look takes a good part of a second. */
function until(isTrue: () => boolean): void {
  for (let tries = 0; !isTrue(); tries++) assert.ok(tries < 300)
}

test('a cluster has a name, is listed, used, looked at, stopped and removed with its context', { timeout: 240_000 }, (t) => {
  t.after(() => typernetes('delete', 'lab'))
  assert.match(typernetes('list').stdout, /^There are no clusters/)
  const up = typernetes('up', '-d', 'lab', '--runtime', 'sim', '--nodes', '2', '--api-port', '0')
  assert.equal(up.status, 0, up.stderr)
  assert.match(up.stdout, /^API server started \(\d+\.\d\d s\)$[\s\S]*^The cluster is ready at https:\/\/127\.0\.0\.1:\d+$/m)
  assert.match(up.stdout, /^ {2}Nodes +2 simulated$/m)
  assert.match(up.stdout, /^Next: export KUBECONFIG='.*clusters\/lab\/admin\.kubeconfig' && .*create deployment hello/m)

  const [cluster, ...others] = JSON.parse(typernetes('list', '-o', 'json').stdout)
  assert.deepEqual([cluster.name, cluster.running, others], ['lab', true, []])
  until(() => /^ {2}Nodes +2 of 2 ready \(sim:\/\/.*\)$[\s\S]*^Nothing is wrong$/m.test(typernetes('status', 'lab').stdout))
  const status = JSON.parse(typernetes('status', 'lab', '--output=json').stdout)
  assert.deepEqual([status.running, status.nodes.length, status.problems], [true, 2, []])

  const again = typernetes('up', 'lab', '--runtime', 'none')
  assert.equal(again.status, 1)
  assert.match(
    again.stderr,
    /^typernetes: a cluster runs in .*clusters\/lab already \(process \d+, https:.*\); stop it with typernetes down/,
  )
  const more = typernetes('up', '-d', 'lab', '--sim-nodes', '7')
  assert.equal(more.status, 0)
  assert.match(more.stdout, /^It is running already\. Until it is stopped .*these have no effect: --sim-nodes 7\.$/m)
  const beside = typernetes('up', 'other', '--runtime', 'none', '--api-port', new URL(cluster.url).port)
  assert.equal(beside.status, 1)
  assert.match(beside.stderr, /^typernetes: .*port \d+ .*in use.*--api-port/m)
  const restore = typernetes('snapshot', 'restore', join(home, '.kube', 'nothing'), '--data-dir', cluster.dataDir)
  assert.equal(restore.status, 1)
  assert.doesNotMatch(restore.stderr, /\n +at /)
  // Killed in between: it starts again by itself, and tells of it.
  process.kill(status.pid, 'SIGKILL')
  until(() => /^ {2}Crashes +1, the last at \S+ with SIGKILL.*; see .*\.json$/m.test(typernetes('status', 'lab').stdout))
  // An upgrade to the version that it has is its restart with the flags that it had.
  const upgrade = typernetes('upgrade', 'apply', '--data-dir', cluster.dataDir)
  assert.match(upgrade.stdout, /The store is saved in .*snapshot\n.*is stopped\n.*The cluster is at v1/s, upgrade.stderr)
  assert.equal(JSON.parse(typernetes('status', 'lab', '--output=json').stdout).nodes.length, 2)
  assert.equal(typernetes('down', 'lab').status, 0)
  assert.equal(typernetes('status', 'lab').status, 1)
  assert.match(typernetes('up', '-d', 'lab', '--runtime', 'sim', '--api-port', '0').stdout, /^ {2}Nodes +1 simulated$/m)
  const log = typernetes('logs', 'lab', '--component', 'cluster', '--since', '10m').stdout.trim().split('\n')
  // What `up` tells its user belongs to the record before it, whichever that is.
  const records = log.filter((line) => line.startsWith('{'))
  assert.ok(records.length > 0 && records.every((line) => JSON.parse(line).component === 'cluster'), log.join('\n'))

  assert.match(typernetes('use', 'lab').stdout, /^kubectl uses the context typernetes-lab of /)
  const config = () => readFileSync(join(home, '.kube/config'), 'utf8')
  assert.match(config(), /^current-context: typernetes-lab$/m)

  assert.equal(typernetes('down', 'lab').status, 0)
  assert.match(typernetes('list').stdout, /^lab +stopped +\* /m)
  assert.equal(typernetes('status', 'lab').status, 1)
  assert.match(typernetes('use', 'lab').stderr, /^typernetes: no cluster lab runs; start it with typernetes up lab\n$/)
  assert.match(typernetes('delete', 'lab').stdout, /^Contexts removed from the kubeconfig: typernetes-lab$/m)
  assert.doesNotMatch(config(), /typernetes/)
  assert.equal(existsSync(join(home, '.local/share/typernetes/clusters/lab')), false)
  assert.equal(typernetes('delete', 'lab').status, 0, 'a second time is fine')
})
