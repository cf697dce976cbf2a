/** Several clusters of one user, by name, as somebody at a terminal uses them. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'

const home = mkdtempSync(join(tmpdir(), 'tn home '))
after(() => rmSync(home, { recursive: true, force: true }))

const program = join(import.meta.dirname, '../../bin/typernetes.js')

function typernetes(...args: string[]) {
  const { KUBECONFIG: _kubeconfig, XDG_DATA_HOME: _data, ...environment } = process.env
  const env = { ...environment, HOME: home }
  const { stdout, stderr, status } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8', env, timeout: 90_000 })
  return { stdout, stderr, status }
}

test('a cluster has a name, is listed, used, looked at, stopped and removed with its context', { timeout: 200_000 }, (t) => {
  t.after(() => typernetes('delete', 'lab'))
  assert.match(typernetes('list').stdout, /^There are no clusters/)
  const up = typernetes('up', '-d', 'lab', '--runtime', 'sim', '--nodes', '2', '--api-port', '0')
  assert.equal(up.status, 0, up.stderr)
  assert.match(up.stdout, /^The cluster is ready at https:\/\/127\.0\.0\.1:\d+\n/)
  assert.match(up.stdout, /^ {2}Nodes +2 simulated$/m)
  assert.match(up.stdout, /^Next: export KUBECONFIG='.*clusters\/lab\/admin\.kubeconfig' && .*create deployment hello/m)

  const [cluster, ...others] = JSON.parse(typernetes('list', '-o', 'json').stdout)
  assert.deepEqual([cluster.name, cluster.running, others], ['lab', true, []])
  assert.match(typernetes('status', 'lab').stdout, /^ {2}Nodes +2 of 2 ready \(sim:\/\/.*\)$[\s\S]*^Nothing is wrong$/m)
  const status = JSON.parse(typernetes('status', 'lab', '--output=json').stdout)
  assert.deepEqual([status.running, status.nodes.length, status.problems], [true, 2, []])

  assert.match(typernetes('use', 'lab').stdout, /^kubectl uses the context typernetes-lab of /)
  const config = () => readFileSync(join(home, '.kube/config'), 'utf8')
  assert.match(config(), /^current-context: typernetes-lab$/m)

  assert.equal(typernetes('down', 'lab').status, 0)
  assert.match(typernetes('list').stdout, /^lab +stopped /m)
  assert.equal(typernetes('status', 'lab').status, 1)
  assert.match(typernetes('use', 'lab').stderr, /^typernetes: no cluster lab runs; start it with typernetes up lab\n$/)
  assert.match(typernetes('delete', 'lab').stdout, /^Contexts removed from the kubeconfig: typernetes-lab$/m)
  assert.doesNotMatch(config(), /typernetes/)
  assert.equal(existsSync(join(home, '.local/share/typernetes/clusters/lab')), false)
  assert.equal(typernetes('delete', 'lab').status, 0, 'a second time is fine')
})

for (const [args, complaint] of [
  [['up', 'Lab'], /^typernetes: Lab is not a valid name for a cluster/],
  [['up', 'lab', '--data-dir', '/x'], /not both/],
  [['up', '--sim-nodes', '-1'], /'-1' is invalid\. Allowed are whole numbers from 0 to 16384\./],
  [['up', '--api-port', '99999'], /'99999' is invalid\. Allowed are whole numbers from 0 to 65535\./],
  [['up', '--cluster-cidr', 'banana'], /'banana' is invalid\. It is not a valid range of addresses such as/],
  [['up', '--service-cluster-ip-range', '10.96.0.0/33'], /It is not a valid range of addresses such as/],
  [['up', '--service-node-port-range', '5-1'], /It is not a valid range of ports such as 30000-32767/],
  [['up', '--data-dir', '/etc/hostname'], /^typernetes: --data-dir: cannot write to \/etc\/hostname/],
  [['up', '--config', '/nowhere.yaml'], /^typernetes: --config: there is no file \/nowhere\.yaml\n$/],
  [['logs', 'lab'], /^typernetes: there is no log in /],
] as const) {
  test(`refused in a line: ${args.join(' ')}`, () => {
    const { stderr, status } = typernetes(...args)
    assert.equal(status, 1)
    assert.match(stderr, complaint)
    assert.doesNotMatch(stderr, /\n +at /, 'no stack')
  })
}
