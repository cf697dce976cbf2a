import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Node, V1PersistentVolumeClaim } from '#api/core/v1/types.gen.ts'
import type { V1Ingress } from '#api/networking/v1/types.gen.ts'
import { defaultIngressClass } from '#apiserver/admission/default-ingress-class.ts'
import { defaultStorageClass } from '#apiserver/admission/default-storage-class.ts'
import { denyServiceExternalIPs } from '#apiserver/admission/deny-service-external-ips.ts'
import { persistentVolumeClaimResize } from '#apiserver/admission/persistent-volume-claim-resize.ts'
import { storageObjectInUseProtection } from '#apiserver/admission/storage-object-in-use-protection.ts'
import { taintNodesByCondition } from '#apiserver/admission/taint-nodes-by-condition.ts'
import { admissionResultOf, admit, requestFor, testContext } from '#apiserver/admission/testing/admission.ts'
import { defined } from '#base/defined.ts'

const marked = (name: string, creationTimestamp: string, annotation: string) => ({
  metadata: { name, creationTimestamp, annotations: { [annotation]: 'true' } },
})

const storageClasses = {
  'storageclasses.storage.k8s.io': [
    marked('old', '2026-01-01T00:00:00Z', 'storageclass.kubernetes.io/is-default-class'),
    marked('b', '2026-01-02T00:00:00Z', 'storageclass.beta.kubernetes.io/is-default-class'),
    marked('a', '2026-01-02T00:00:00Z', 'storageclass.kubernetes.io/is-default-class'),
    { metadata: { name: 'grows' }, allowVolumeExpansion: true },
    { metadata: { name: 'stays' } },
  ],
}

test('a claim without class gets the newest default, the first by name of two', async () => {
  const of = async (claim: object) =>
    (
      await admit<V1PersistentVolumeClaim>(
        defaultStorageClass(testContext(storageClasses)),
        requestFor('persistentvolumeclaims', { object: claim }),
      )
    ).spec?.storageClassName
  assert.equal(await of({ metadata: { name: 'c' }, spec: {} }), 'a')
  assert.equal(await of({ metadata: { name: 'c' }, spec: { storageClassName: '' } }), '')
  assert.equal(await of({ metadata: { name: 'c', annotations: { 'volume.beta.kubernetes.io/storage-class': 'x' } }, spec: {} }), undefined)
})

test('an ingress without class gets the default', async () => {
  const classes = {
    'ingressclasses.networking.k8s.io': [marked('nginx', '2026-01-01T00:00:00Z', 'ingressclass.kubernetes.io/is-default-class')],
  }
  const of = async (ingress: object) =>
    (await admit<V1Ingress>(defaultIngressClass(testContext(classes)), requestFor('ingresses.networking.k8s.io', { object: ingress }))).spec
      ?.ingressClassName
  assert.equal(await of({ metadata: { name: 'i' }, spec: {} }), 'nginx')
  assert.equal(await of({ metadata: { name: 'i' }, spec: { ingressClassName: 'x' } }), 'x')
  assert.equal(await of({ metadata: { name: 'i', annotations: { 'kubernetes.io/ingress.class': 'x' } }, spec: {} }), undefined)
})

test('claims grow only when bound and when their class lets them', async () => {
  const claim = (storage: string, storageClassName: string, phase = 'Bound') => ({
    metadata: { name: 'c' },
    spec: { storageClassName, resources: { requests: { storage } } },
    status: { phase },
  })
  const of = (object: object, oldObject: object) =>
    admissionResultOf(persistentVolumeClaimResize, testContext(storageClasses), 'persistentvolumeclaims', { object, oldObject })
  const prefix = '403 persistentvolumeclaims "c" is forbidden: '
  const unsupported = 'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize'
  assert.equal(await of(claim('2Gi', 'grows'), claim('1Gi', 'grows')), 'allowed')
  assert.equal(await of(claim('1Gi', 'stays'), claim('2Gi', 'stays')), 'allowed')
  assert.equal(await of(claim('2Gi', 'stays'), claim('1Gi', 'stays')), prefix + unsupported)
  assert.equal(await of(claim('2Gi', 'no'), claim('1Gi', 'no')), prefix + unsupported)
  assert.equal(await of(claim('2Gi', ''), claim('1Gi', '')), prefix + unsupported)
  const pending = claim('1Gi', 'grows', 'Pending')
  assert.equal(await of(claim('2Gi', 'grows'), pending), `${prefix}Only bound persistent volume claims can be expanded`)
})

test('storage objects get their finalizer once', async () => {
  const plugin = storageObjectInUseProtection(testContext())
  const of = async (resource: string, finalizers?: string[]) =>
    (await admit(plugin, requestFor(resource, { object: { metadata: { name: 'x', ...defined({ finalizers }) } } }))).metadata?.finalizers
  assert.deepEqual(await of('persistentvolumes'), ['kubernetes.io/pv-protection'])
  assert.deepEqual(await of('persistentvolumeclaims', ['mine']), ['mine', 'kubernetes.io/pvc-protection'])
  assert.deepEqual(await of('persistentvolumeclaims', ['kubernetes.io/pvc-protection']), ['kubernetes.io/pvc-protection'])
  assert.deepEqual(await of('volumeattributesclasses.storage.k8s.io'), ['kubernetes.io/vac-protection'])
})

test('a new node is tainted until it is ready, and only once', async () => {
  const of = async (spec?: object) =>
    (await admit<V1Node>(taintNodesByCondition(), requestFor('nodes', { object: { metadata: { name: 'n' }, ...defined({ spec }) } }))).spec
      ?.taints
  const taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }
  assert.deepEqual(await of(), [taint])
  assert.deepEqual(await of({ taints: [{ key: 'a', effect: 'NoExecute' }] }), [{ key: 'a', effect: 'NoExecute' }, taint])
  assert.deepEqual(await of({ taints: [taint] }), [taint])
})

test('services get no new external addresses', async () => {
  const service = (externalIPs?: string[]) => ({ metadata: { name: 's' }, spec: externalIPs ? { externalIPs } : {} })
  const of = (object: object, oldObject?: object) =>
    admissionResultOf(denyServiceExternalIPs, testContext(), 'services', { object, ...defined({ oldObject }) })
  const refusal = '403 services "s" is forbidden: Use of external IPs is denied by admission control'
  assert.equal(await of(service()), 'allowed')
  assert.equal(await of(service(['1.1.1.1'])), refusal)
  assert.equal(await of(service(['1.1.1.1']), service(['1.1.1.1', '2.2.2.2'])), 'allowed')
  assert.equal(await of(service(['3.3.3.3']), service(['1.1.1.1'])), refusal)
})
