/** APIServices that stand for servers in this process give way to others of their names. */
import { APIService } from '#api/apiregistration/v1/kinds.gen.ts'
import type { V1APIService } from '#api/apiregistration/v1/types.gen.ts'
import type { V1Service } from '#api/core/v1/types.gen.ts'
import { conflict } from '#api/meta/status-error.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { Registries } from '#apiserver/registry/registries.ts'
import { serverContext } from '#apiserver/registry/registries.ts'
import type { RegistryHooks } from '#apiserver/registry/registry-hooks.ts'

/** Says that nobody but this program has made the APIService, or the service that it leads to. */
export const builtInAnnotations = { 'typernetes.dev/built-in': 'true' } as const

export const isBuiltIn = (object: { metadata: V1ObjectMeta } | undefined): boolean =>
  object?.metadata.annotations?.['typernetes.dev/built-in'] === 'true'

/** A service of this program's leads to another machine: who can answer does so without it, whether that machine is there or not. */
export const isSomebodyElses = (service: V1Service | undefined): boolean => service !== undefined && !isBuiltIn(service)

/** Whoever installs a server of their own creates its APIService: they need not know that there was one before. */
export function builtInApiServiceHooks(registries: Registries): ReadonlyMap<string, RegistryHooks> {
  /** Names whose APIService has just given way: its owner, who sees that it is gone, may not be quicker than the new one, and asks again. */
  const givenUp = new Set<string>()
  const hooks: RegistryHooks<V1APIService> = {
    async beginCreate(object, { isDryRun }) {
      const { name = '' } = object.metadata
      if (isBuiltIn(object)) {
        if (givenUp.has(name)) throw conflict({ group: APIService.group, resource: APIService.plural }, name, 'another one takes its place')
        return undefined
      }
      const registry = registries.of(APIService)
      if (isDryRun || !isBuiltIn((await registry.find('', name))?.object)) return undefined
      givenUp.add(name)
      try {
        await registry.delete(name, {}, serverContext(registry.definition, ''))
      } catch (error) {
        givenUp.delete(name)
        throw error
      }
      return () => void givenUp.delete(name)
    },
  }
  return new Map([[`${APIService.group}/${APIService.plural}`, hooks as RegistryHooks]])
}
