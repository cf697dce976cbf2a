/** What a server serves, as a client knows it: asked for again when there is reason to. */
import { apiVersionOf } from '#api/meta/gvk.ts'
import { Scheme } from '#api/scheme.ts'
import type { Client } from '#client/client.ts'
import { type DiscoveredResource, type Discovery, discover } from '#client/discovery.ts'

export class ServedKinds {
  readonly #client: Client
  /** Kinds come and go with `refresh`; one that did not change stays the same value. */
  readonly scheme = new Scheme<DiscoveredResource>()
  #failures: Discovery['failures'] = []

  constructor(client: Client) {
    this.#client = client
  }

  /** The groups that could not be asked the last time: what was known of them is kept. */
  get failures(): Discovery['failures'] {
    return this.#failures
  }

  async refresh(): Promise<void> {
    const { resources, failures } = await discover(this.#client)
    this.#failures = failures
    const found = new Map(resources.map((resource) => [placeOf(resource), resource]))
    const unknown = new Set(failures.map(({ groupVersion }) => groupVersion))
    const remove: DiscoveredResource[] = []
    for (const known of this.scheme.definitions()) {
      const now = found.get(placeOf(known))
      if (now === undefined) {
        if (!unknown.has(apiVersionOf(known))) remove.push(known)
      } else if (JSON.stringify(now) === JSON.stringify(known)) found.delete(placeOf(known))
    }
    this.scheme.update({ add: [...found.values()], remove })
  }
}

const placeOf = ({ group, version, plural }: DiscoveredResource): string => `${group}/${version}/${plural}`
