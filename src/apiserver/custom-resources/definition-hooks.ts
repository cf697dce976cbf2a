import type { V1CustomResourceDefinition } from '#api/apiextensions/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { validateDeleteOptions } from '#api/meta/request-options.ts'
import { invalid } from '#api/meta/status-error.ts'
import { markedForDeletion } from '#apiserver/custom-resources/instance-cleanup.ts'
import { checkDeletePreconditions } from '#apiserver/registry/delete-preconditions.ts'
import type { RegistryHooks } from '#apiserver/registry/registry-hooks.ts'
import type { Clock } from '#base/clock.ts'
import { oneEachTurn } from '#base/one-each-turn.ts'

/** A definition is not deleted at once: it stays until its objects are gone. */
export function definitionHooks(clock: Clock): ReadonlyMap<string, RegistryHooks> {
  // To validate a schema with its rules takes milliseconds: hundreds at once do not keep others waiting.
  const turn = oneEachTurn(clock)
  const wait = async () => {
    await turn()
    return undefined
  }
  const hooks: RegistryHooks<V1CustomResourceDefinition> = {
    beginCreate: wait,
    beginUpdate: wait,
    insteadOfDelete(object, options, nowMs) {
      if (object.metadata?.deletionTimestamp !== undefined) return undefined
      const check = new Check(options)
      validateDeleteOptions(check)
      if (check.failed) throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', check.errors)
      checkDeletePreconditions({ group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' }, object, options)
      return markedForDeletion(deepCopy(object), nowMs)
    },
  }
  return new Map([['apiextensions.k8s.io/customresourcedefinitions', hooks]])
}
