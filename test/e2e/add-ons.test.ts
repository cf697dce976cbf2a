/** `up --addons-dir --service-catalog`: a directory is kept applied, kinds of the service catalog among it. */
import assert from 'node:assert/strict'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigMap, defineKind, type KubernetesObject, openClient, systemClock, waitFor } from '#index.ts'
import { startCluster } from '../support/running-cluster.ts'

type Instance = KubernetesObject & { status?: { conditions?: { reason?: string }[] } }
const ServiceInstance = defineKind<Instance>({
  group: 'servicecatalog.k8s.io',
  version: 'v1beta1',
  kind: 'ServiceInstance',
  plural: 'serviceinstances',
})

test('what is put into the directory of add-ons is there, and gone when it is taken out', { timeout: 240_000 }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'addons '))
  t.after(() => rmSync(directory, { recursive: true }))
  const labels = { 'addonmanager.kubernetes.io/mode': 'Reconcile' }
  const file = join(directory, 'addons.json')
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'first', labels }, data: { a: 'b' } }
  const spec = { clusterServiceClassExternalName: 'none' }
  const instance = { apiVersion: 'servicecatalog.k8s.io/v1beta1', kind: 'ServiceInstance', metadata: { name: 'second', labels }, spec }
  // In one step: a file that is empty for a moment takes everything out.
  const write = (...items: object[]) => {
    writeFileSync(`${directory}.draft`, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
    renameSync(`${directory}.draft`, file)
  }
  write(map, instance)
  await using cluster = await startCluster(['--addons-dir', directory, '--service-catalog'])
  using client = await openClient({ kubeconfig: cluster.kubeconfig })
  const waiting = { clock: systemClock, timeoutMs: 90_000 }
  const at = (name: string) => ({ namespace: 'kube-system', name })
  assert.ok(await waitFor(client, ConfigMap, at('first'), (each) => each !== undefined, waiting))
  const isEvaluated = (each: Instance | undefined) => each?.status?.conditions?.[0]?.reason === 'ReferencesNonexistentServiceClass'
  await waitFor(client, ServiceInstance, at('second'), isEvaluated, waiting)
  write(map)
  await waitFor(client, ServiceInstance, at('second'), (each) => each === undefined, waiting)
  assert.ok(await client.get(ConfigMap, 'kube-system', 'first'))
})
