/** Who may do what, as the real kubectl sees it. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type RunningCluster, startCluster } from '../support/running-cluster.ts'

const skip = spawnSync('kubectl', ['version', '--client']).status === 0 ? false : 'there is no kubectl here'

let cluster: RunningCluster

if (!skip) {
  before(async () => {
    cluster = await startCluster(['--store', 'memory', '--runtime', 'none', '--controllers=', '--scheduler=false'])
    await kubectl('create', 'namespace', 'dev')
    for (const role of ['view', 'edit', 'admin', 'cluster-admin']) {
      await kubectl('create', 'rolebinding', role, `--clusterrole=${role}`, `--user=${role}-in-dev`, '-n', 'dev')
    }
    await kubectl('create', 'clusterrolebinding', 'boss', '--clusterrole=cluster-admin', '--user=boss')
  })
  after(() => cluster[Symbol.asyncDispose]())
}

function kubectl(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, KUBECACHEDIR: join(cluster.directory, 'cache'), HOME: cluster.directory }
  return new Promise((resolve) => {
    execFile('kubectl', args, { env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    )
  })
}

const questions: [who: string, what: string, answer: 'yes' | 'no'][] = [
  ['view-in-dev', 'get pods -n dev', 'yes'],
  ['view-in-dev', 'get secrets -n dev', 'no'],
  ['view-in-dev', 'get pods -n default', 'no'],
  ['edit-in-dev', 'create deployments.apps -n dev', 'yes'],
  ['edit-in-dev', 'get secrets -n dev', 'yes'],
  ['edit-in-dev', 'create roles.rbac.authorization.k8s.io -n dev', 'no'],
  ['admin-in-dev', 'create rolebindings.rbac.authorization.k8s.io -n dev', 'yes'],
  ['admin-in-dev', 'delete nodes', 'no'],
  ['cluster-admin-in-dev', 'delete secrets -n dev', 'yes'],
  ['cluster-admin-in-dev', 'delete secrets -n default', 'no'],
  ['boss', 'delete nodes', 'yes'],
  ['boss', 'get /metrics', 'yes'],
  ['nobody', 'get /version', 'yes'],
  ['nobody', 'get /metrics', 'no'],
  ['nobody', 'list pods --all-namespaces', 'no'],
  ['system:kube-scheduler', 'create pods --subresource=binding -n dev', 'yes'],
  ['system:kube-scheduler', 'get secrets -n dev', 'no'],
  ['system:serviceaccount:kube-system:replicaset-controller', 'create pods -n dev', 'yes'],
  ['system:serviceaccount:dev:default', 'get secrets -n dev', 'no'],
]
for (const [who, what, answer] of questions) {
  test(`kubectl auth can-i ${what} --as ${who}: ${answer}`, { skip }, async () => {
    const { stdout, stderr } = await kubectl('auth', 'can-i', ...what.split(' '), '--as', who)
    assert.equal(stdout.trim(), answer, stderr)
  })
}

const listed: [who: string, rows: RegExp[], absent: RegExp[]][] = [
  [
    'view-in-dev',
    [
      /^pods +\[\] +\[\] +\[get list watch\]$/m,
      /^selfsubjectreviews\.authentication\.k8s\.io .*\[create\]$/m,
      /^ +\[\/version\] +\[\] +\[get\]$/m,
    ],
    [/^secrets /m],
  ],
  ['edit-in-dev', [/^secrets +\[\] +\[\] +\[.*create.*\]$/m, /^pods\/exec /m], [/^roles\.rbac/m]],
  ['cluster-admin-in-dev', [/^\*\.\* +\[\] +\[\] +\[\*\]$/m], []],
  ['admin-in-dev', [/^rolebindings\.rbac\.authorization\.k8s\.io +\[\] +\[\] +\[.*create.*\]$/m, /^secrets /m], [/^nodes /m, /^\*\.\*/m]],
  [
    'system:kube-scheduler',
    [/^pods\/binding +\[\] +\[\] +\[create\]$/m, /^nodes +\[\] +\[\] +\[get list watch\]$/m],
    [/^secrets /m, /^\*\.\*/m],
  ],
  [
    'system:kube-controller-manager',
    [/^serviceaccounts\/token +\[\] +\[\] +\[create\]$/m, /^\*\.\* +\[\] +\[\] +\[.*list watch.*\]$/m],
    [/\[\*\]$/m],
  ],
  ['system:kube-proxy', [/^endpointslices\.discovery\.k8s\.io +\[\] +\[\] +\[list watch\]$/m], [/^secrets /m, /^pods /m]],
  [
    'system:serviceaccount:kube-system:namespace-controller',
    [/^\*\.\* +\[\] +\[\] +\[delete deletecollection get list watch\]$/m],
    [/\[\*\]$/m],
  ],
  ['nobody', [/^selfsubjectaccessreviews\.authorization\.k8s\.io /m], [/^pods /m, /\[\*\]$/m]],
]
for (const [who, rows, absent] of listed) {
  test(`kubectl auth can-i --list --as ${who} -n dev`, { skip }, async () => {
    const { stdout, stderr, code } = await kubectl('auth', 'can-i', '--list', '--as', who, '-n', 'dev')
    assert.equal(code, 0, stderr)
    for (const row of rows) assert.match(stdout, row)
    for (const row of absent) assert.doesNotMatch(stdout, row)
  })
}

test('kubectl auth whoami knows the administrator', { skip }, async () => {
  const { stdout } = await kubectl('auth', 'whoami')
  assert.match(stdout, /Username +kubernetes-admin/)
  assert.match(stdout, /Groups +\[system:masters system:authenticated\]/)
})
