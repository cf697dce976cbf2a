import assert from 'node:assert/strict'
import { test } from 'node:test'
import { APIService } from '#api/apiregistration/v1/kinds.gen.ts'
import type { V1APIService } from '#api/apiregistration/v1/types.gen.ts'
import { builtInAnnotations, builtInApiServiceHooks, isSomebodyElses } from '#apiserver/aggregation/built-in-api-services.ts'
import type { Registries } from '#apiserver/registry/registries.ts'
import type { RegistryHooks } from '#apiserver/registry/registry-hooks.ts'
import type { WriteContext } from '#apiserver/registry/write-context.ts'

const name = 'v1beta1.metrics.k8s.io'
const spec = { group: 'metrics.k8s.io', version: 'v1beta1', groupPriorityMinimum: 100, versionPriority: 100 }
const ours: V1APIService = { metadata: { name, annotations: { 'typernetes.dev/built-in': 'true' } }, spec }
const theirs: V1APIService = { metadata: { name }, spec }
const context = { isDryRun: false } as WriteContext

/** A registry that holds our APIService and calls back when it is deleted. */
function hooksOver(onDelete: () => Promise<void>) {
  let stored: V1APIService | undefined = ours
  const registry = {
    definition: APIService,
    find: async () => stored && { object: stored },
    async delete() {
      stored = undefined
      await onDelete()
    },
  }
  const all = builtInApiServiceHooks({ of: () => registry } as unknown as Registries)
  const hooks = all.get('apiregistration.k8s.io/apiservices') as RegistryHooks<V1APIService>
  const create = (object: V1APIService, more: Partial<WriteContext> = {}) => hooks.beginCreate?.(object, { ...context, ...more })
  return { create, stored: () => stored }
}

test('an APIService that gives way is not put back before the new one is there', async () => {
  const refusals: string[] = []
  const { create, stored } = hooksOver(async () => {
    await create(ours)?.catch((error: Error) => refusals.push(error.message))
  })
  const finish = await create(theirs)
  assert.equal(stored(), undefined)
  assert.deepEqual(refusals, [`Operation cannot be fulfilled on apiservices.apiregistration.k8s.io "${name}": another one takes its place`])
  await assert.rejects(async () => create(ours), /another one takes its place/)
  await finish?.(true)
  // Whoever takes it out later lets ours come back.
  assert.equal(await create(ours), undefined)
})

test('a dry run and one that failed leave everything as it was', async () => {
  const dry = hooksOver(async () => {})
  await dry.create(theirs, { isDryRun: true })
  assert.equal(dry.stored(), ours)
  const failing = hooksOver(() => Promise.reject(new Error('the store is away')))
  await assert.rejects(async () => failing.create(theirs), /the store is away/)
  assert.equal(await failing.create(ours), undefined)
})

test('a server in this process answers unless somebody else has the service: another machine of ours is nobody else', () => {
  const place = { namespace: 'kube-system', name: 'metrics-server' }
  assert.equal(isSomebodyElses(undefined), false)
  assert.equal(isSomebodyElses({ metadata: { ...place, annotations: { ...builtInAnnotations } }, spec: {} }), false)
  assert.equal(isSomebodyElses({ metadata: place, spec: {} }), true)
})
