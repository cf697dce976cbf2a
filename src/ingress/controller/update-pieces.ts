import type { Backend } from '#ingress/data-plane/backend.ts'
import type { CertificatePair, SiteCertificate } from '#ingress/data-plane/certificate-table.ts'
import type { ProxyUpdate } from '#ingress/data-plane/ingress-proxy.ts'
import type { Site } from '#ingress/routing/route.ts'

type Changes = {
  /** By key; undefined where it is no more. */
  readonly sites: Map<string, Site | undefined>
  readonly backends: Map<string, Backend | undefined>
  readonly pairs: Map<string, CertificatePair | undefined>
  readonly certificates: Map<string, SiteCertificate | undefined>
}

/** Routes, endpoints and so on in one message: it is copied for every thread in one go. */
const mostInOne = 1000

/**
 * Changes on their way to the data plane, in pieces where they are many. Of several words on one thing the last counts.
 * Backends and pairs are taken away with the last piece: what leads to them is gone by then.
 */
export class UpdatePieces {
  readonly #apply: (update: ProxyUpdate) => void
  readonly #changes: Changes = { sites: new Map(), backends: new Map(), pairs: new Map(), certificates: new Map() }
  #weight = 0

  constructor(apply: (update: ProxyUpdate) => void) {
    this.#apply = apply
  }

  add<K extends keyof Changes>(kind: K, key: string, change: Changes[K] extends Map<string, infer T> ? T : never, weight = 1): void {
    const changes = this.#changes[kind] as Map<string, typeof change>
    changes.set(key, change)
    this.#weight += weight
    if (this.#weight >= mostInOne) this.#tell(false)
  }

  finish(): void {
    this.#tell(true)
  }

  #tell(isLast: boolean): void {
    const { sites, backends, pairs, certificates } = this.#changes
    const update: ProxyUpdate = {
      ...{ sites: [...present(sites).values()], removedSites: absent(sites) },
      ...{ backends: [...present(backends)], removedBackends: isLast ? absent(backends) : [] },
      ...{ pairs: [...present(pairs)], removedPairs: isLast ? absent(pairs) : [] },
      certificates: [...present(certificates).values()],
      removedCertificates: absent(certificates).map((key) => {
        const [listener = '', host = ''] = key.split(' ')
        return { listener, host }
      }),
    }
    this.#weight = 0
    sites.clear()
    certificates.clear()
    for (const key of present(backends).keys()) backends.delete(key)
    for (const key of present(pairs).keys()) pairs.delete(key)
    if (Object.values(update).some(({ length }) => length > 0)) this.#apply(update)
  }
}

function present<T>(changes: ReadonlyMap<string, T | undefined>): Map<string, T> {
  const found = new Map<string, T>()
  for (const [key, change] of changes) if (change !== undefined) found.set(key, change)
  return found
}

const absent = (changes: ReadonlyMap<string, unknown>): string[] => [...changes.keys()].filter((key) => changes.get(key) === undefined)
