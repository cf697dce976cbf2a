import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Namespace } from '#api/core/v1/kinds.gen.ts'
import type { StatusError } from '#api/meta/status-error.ts'
import { namespaceAutoProvision } from '#apiserver/admission/namespace-auto-provision.ts'
import { namespaceExists } from '#apiserver/admission/namespace-exists.ts'
import { namespaceLifecycle } from '#apiserver/admission/namespace-lifecycle.ts'
import { admissionResultOf, admit, type RequestOptions, requestFor, testContext } from '#apiserver/admission/testing/admission.ts'

const context = () =>
  testContext({
    namespaces: [
      { metadata: { name: 'ns' }, status: { phase: 'Active' } },
      { metadata: { name: 'ending' }, status: { phase: 'Terminating' } },
    ],
  })
const configMap = { metadata: { name: 'c' } }

const lifecycle: [sentence: string, resource: string, options: RequestOptions, expected: string][] = [
  ['objects come into namespaces', 'configmaps', { object: configMap }, 'allowed'],
  ['not into one that is missing', 'configmaps', { object: configMap, namespace: 'no' }, '404 namespaces "no" not found'],
  [
    'nor into one that is being deleted',
    'configmaps',
    { object: configMap, namespace: 'ending' },
    '403 configmaps "c" is forbidden: unable to create new content in namespace ending because it is being terminated',
  ],
  ['where they may still be updated', 'configmaps', { object: configMap, oldObject: configMap, namespace: 'ending' }, 'allowed'],
  [
    'an update needs the namespace too',
    'configmaps',
    { object: configMap, oldObject: configMap, namespace: 'no' },
    '404 namespaces "no" not found',
  ],
  ['a deletion does not', 'configmaps', { operation: 'DELETE', oldObject: configMap, namespace: 'no' }, 'allowed'],
  ['cluster-scoped objects need none', 'nodes', { object: { metadata: { name: 'n' } } }, 'allowed'],
  ...['default', 'kube-system', 'kube-public'].map((name): [string, string, RequestOptions, string] => [
    `${name} cannot be deleted`,
    'namespaces',
    { operation: 'DELETE', oldObject: {}, name },
    `403 namespaces "${name}" is forbidden: this namespace may not be deleted`,
  ]),
  ['others can', 'namespaces', { operation: 'DELETE', oldObject: {}, name: 'ns' }, 'allowed'],
]

test('NamespaceLifecycle', async (t) => {
  for (const [sentence, resource, options, expected] of lifecycle) {
    await t.test(sentence, async () => {
      assert.equal(await admissionResultOf(namespaceLifecycle, context(), resource, options), expected)
    })
  }
})

test('the refusal of a namespace that ends says so in a cause', async () => {
  const request = requestFor('configmaps', { object: configMap, namespace: 'ending' })
  const error = await admit(namespaceLifecycle(context()), request).catch((thrown: StatusError) => thrown)
  assert.deepEqual((error as StatusError).status.details?.causes, [
    { reason: 'NamespaceTerminating', message: 'namespace ending is being terminated', field: 'metadata.namespace' },
  ])
})

test('after a deletion the store is asked whether the namespace is still active', async () => {
  const { cluster, ...rest } = context()
  let asked = 0
  const doubting = Object.assign(Object.create(cluster), {
    get: cluster.get.bind(cluster),
    async getFresh() {
      asked++
      return { metadata: { name: 'ns' }, status: { phase: 'Terminating' } }
    },
  })
  const plugin = namespaceLifecycle({ ...rest, cluster: doubting })
  await admit(plugin, requestFor('configmaps', { object: configMap }))
  assert.equal(asked, 0)
  await admit(plugin, requestFor('namespaces', { operation: 'DELETE', oldObject: {}, name: 'ns' }))
  await assert.rejects(admit(plugin, requestFor('configmaps', { object: configMap })), /being terminated/)
  assert.equal(asked, 1)
})

test('NamespaceExists refuses even deletions in a namespace that is missing', async () => {
  assert.equal(await admissionResultOf(namespaceExists, context(), 'configmaps', { object: configMap }), 'allowed')
  const missing = { operation: 'DELETE' as const, oldObject: configMap, namespace: 'no' }
  assert.equal(await admissionResultOf(namespaceExists, context(), 'configmaps', missing), '404 namespaces "no" not found')
})

test('NamespaceAutoProvision makes the namespace, except in a dry run', async () => {
  const made = context()
  await admit(namespaceAutoProvision(made), requestFor('configmaps', { object: configMap, namespace: 'fresh', isDryRun: true }))
  assert.equal(made.cluster.get(Namespace, 'fresh'), undefined)
  await admit(namespaceAutoProvision(made), requestFor('configmaps', { object: configMap, namespace: 'fresh' }))
  assert.equal(made.cluster.get(Namespace, 'fresh')?.kind, 'Namespace')
})
