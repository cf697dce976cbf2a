import assert from 'node:assert/strict'
import { test } from 'node:test'
import { roleOf } from '#cmd/running/end-processes.ts'

const traces = { directories: ['/data/lab'], podCgroup: 'kubepods-tn-1234' }
const nothing = { pid: 7, args: ['sh'], openFiles: [], cgroups: '0::/user.slice' }

for (const [what, seen, role] of [
  [
    'the cluster, whose store is open though it was deleted',
    { args: ['node', '/x/typernetes.js', 'up'], openFiles: ['/data/lab/store/store.db (deleted)'] },
    'cluster',
  ],
  ['its containerd', { args: ['/usr/bin/containerd', '--config', '/data/lab/containerd/config.toml'] }, 'runtime'],
  ["a container's shim", { args: ['/usr/bin/containerd-shim-runc-v2', '-address', '/data/lab/containerd/containerd.sock'] }, 'runtime'],
  ['what runs in a pod', { args: ['nginx'], cgroups: '4:memory:/kubepods-tn-1234/besteffort/pod1/c\n0::/' }, 'pod'],
  ['the cluster next door', { args: ['node', '/x/typernetes.js', 'up'], openFiles: ['/data/lab2/store/store.db'] }, undefined],
  ["the machine's own containerd", { args: ['/usr/bin/containerd'] }, undefined],
  ['somebody who reads the log', { args: ['tail', '-f', '/data/lab/typernetes.log'], openFiles: ['/data/lab/typernetes.log'] }, undefined],
  ['kubectl with its kubeconfig', { args: ['kubectl', '--kubeconfig', '/data/lab/admin.kubeconfig', 'get', 'pods'] }, undefined],
  ["somebody else's Node program", { args: ['node', 'server.js'], openFiles: ['/data/lab/typernetes.log'] }, undefined],
  ['a pod of another cluster', { args: ['nginx'], cgroups: '0::/kubepods-tn-12345/besteffort/pod1/c' }, undefined],
] as const) {
  test(`delete ${role === undefined ? 'leaves alone' : 'ends'} ${what}`, () => {
    assert.equal(roleOf({ ...nothing, ...seen }, traces), role)
  })
}
