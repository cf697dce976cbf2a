/** Names out of a cluster and of a kubeconfig. */
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Call } from '#cli/call.ts'
import { resourcePath } from '#cli/session/resource-types.ts'

export class ClusterWords {
  readonly #call: Call

  constructor(call: Call) {
    this.#call = call
  }

  /** In the form in which `api-resources -o name` has them. */
  async types(): Promise<string[]> {
    const { resources } = await (await this.#call.session.types).all()
    const served = resources.filter(({ verbs }) => verbs.includes('get'))
    return [...new Set(served.map(({ plural, group }) => (group === '' ? plural : `${plural}.${group}`)))].sort()
  }

  async names(resource: string): Promise<string[]> {
    const { session } = this.#call
    const type = await (await session.types).find(resource)
    if (type === undefined) return []
    const { items } = await (await session.rest).json<{ items: { metadata: { name: string } }[] }>({
      path: resourcePath(type, type.isNamespaced ? await session.namespace() : ''),
      query: { limit: 500 },
      isQuiet: true,
    })
    return items.map(({ metadata }) => metadata.name)
  }

  async containers(pod: string): Promise<string[]> {
    const { session } = this.#call
    const path = resourcePath({ group: '', version: 'v1', plural: 'pods' }, await session.namespace(), pod)
    const { spec } = await (await session.rest).json<V1Pod>({ path })
    return [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])].map(({ name }) => name)
  }

  async entries(kind: 'contexts' | 'clusters' | 'users'): Promise<string[]> {
    const { mergedConfig } = await import('#cli/config/edit-config.ts')
    return [...(await mergedConfig(this.#call))[kind].keys()].sort()
  }
}
