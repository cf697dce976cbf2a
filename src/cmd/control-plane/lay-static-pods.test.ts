import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { thisProcess } from '#base/machine.ts'
import { areStaticPodsLaid, layStaticPods, mustFitStaticPods, staticPodsOf } from '#cmd/control-plane/lay-static-pods.ts'
import { usualOptions } from '#cmd/control-plane/shared-options.ts'

const pods = { manifestsDir: '', controlPlaneImage: 'host', etcdImage: 'host' }

test('the manifest of etcd can be there before the others, which are then laid once', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'static pods '))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  t.mock.method(thisProcess, 'print', () => {})
  const options = { ...usualOptions(), dataDir, store: 'etcd', listen: '10.0.0.2' }
  const laid = () => readdirSync(join(dataDir, 'manifests')).sort()
  await layStaticPods(options, pods, 'etcd')
  assert.deepEqual(laid(), ['etcd.yaml'])
  assert.equal(await areStaticPodsLaid(options, pods), false)
  assert.equal(await staticPodsOf(dataDir), undefined)
  await layStaticPods(options, pods)
  const all = ['etcd.yaml', 'kube-apiserver.yaml', 'kube-controller-manager.yaml', 'kube-scheduler.yaml', 'typernetes-addons.yaml']
  assert.deepEqual(laid(), all)
  assert.equal(await areStaticPodsLaid(options, pods), true)
  assert.deepEqual(await staticPodsOf(dataDir), pods)
})

test('what only a control plane in one process has is refused', () => {
  const options = { ...usualOptions(), store: 'etcd' }
  mustFitStaticPods(options, pods)
  assert.throws(() => mustFitStaticPods({ ...options, store: 'sqlite' }, pods), /--store: API servers in pods need etcd/)
  assert.throws(() => mustFitStaticPods({ ...options, podNetwork: 'bgp' }, pods), /--pod-network bgp: only a control plane in one process/)
  assert.throws(() => mustFitStaticPods(options, { ...pods, controlPlaneImage: 'registry.example/typernetes:1' }), /--etcd-image/)
})
