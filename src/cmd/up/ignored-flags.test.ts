import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ignoredFlags } from '#cmd/up/ignored-flags.ts'

test('flags that a running cluster was not started with have no effect on it', () => {
  const startedWith = ['up', 'lab', '--nodes', '2', '--runtime=sim', '--etcd']
  assert.deepEqual(ignoredFlags({ nodes: 2, runtime: 'sim', etcd: true }, startedWith), [])
  assert.deepEqual(ignoredFlags({ nodes: 3, simNodes: 5, mergeKubeconfig: true }, startedWith), [
    '--nodes 3',
    '--sim-nodes 5',
    '--merge-kubeconfig',
  ])
})
