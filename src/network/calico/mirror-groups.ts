import type { Kind } from '#api/kind.ts'
import { isConflict, isNotFound } from '#api/meta/server-response.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Logger } from '#base/log.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Random } from '#base/random.ts'
import { SyncLoop } from '#base/sync-loop.ts'
import type { Client } from '#client/client.ts'
import { Informer } from '#client/informer/informer.ts'

type Mirrored = { metadata: V1ObjectMeta; spec: object }
type Pair = { written: Kind<Mirrored>; kept: Kind<Mirrored> }

export type MirrorOptions = {
  /** The same kind in both groups. */
  pairs: readonly Pair[]
  client: Client
  clock: Clock
  random: Random
  logger: Logger
}

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'
const retryMs = 60_000

/**
 * Objects of Calico are the same in both groups: what is written in one is found in the other, as where both are views of one store. Of two that
 * differ when the mirror starts the one that people write counts.
 */
export function mirrorGroups({ pairs, client, clock, random, logger }: MirrorOptions): { stop(): Promise<void> } {
  const mirrors = pairs.map(({ written, kept }) => {
    const shared = { client, clock, random, logger, forgetsManagers: true }
    const sides = [new Informer({ ...shared, kind: written }), new Informer({ ...shared, kind: kept })] as const
    /** What both sides were when they were last the same. */
    const agreed = new Map<string, string>()
    const loop = new SyncLoop({
      ...{ clock, minMs: 0, maxMs: retryMs },
      async run() {
        const keys = new Set([...agreed.keys(), ...sides.flatMap((side) => side.list().map(keyOf))])
        for (const key of keys) await agree(key)
      },
      onFailure: (error, pauseMs) =>
        logger.warn('failed to bring both groups of Calico together, retrying', {
          kind: written.kind,
          error: errorMessage(error),
          pauseMs,
        }),
    })
    const agree = async (key: string): Promise<void> => {
      const [namespace = '', name = ''] = key.split('/')
      const [one, other] = sides.map((side) => side.get(namespace, name)) as [Mirrored | undefined, Mirrored | undefined]
      const [texts, before] = [[textOf(one), textOf(other)] as const, agreed.get(key)]
      if (texts[0] === texts[1]) {
        if (texts[0] === undefined) agreed.delete(key)
        else agreed.set(key, texts[0])
        return
      }
      // Whichever has changed since is right; the first where nothing is known, or both have.
      const isFirstRight = texts[0] !== before && (texts[0] !== undefined || before !== undefined)
      const [from, to] = isFirstRight ? [one, kept] : [other, written]
      if (from === undefined) await client.delete(to, { namespace, name }).catch(ignoreGone)
      else await put(to, from, isFirstRight ? other : one)
    }
    const put = async (kind: Kind<Mirrored>, { metadata, spec }: Mirrored, present: Mirrored | undefined): Promise<void> => {
      const { namespace, name, labels } = metadata
      const annotations = plainAnnotations(metadata)
      const shown = { name, ...omitEmpty({ namespace }), ...defined({ labels, annotations }) }
      if (present === undefined) await client.create(kind, { metadata: shown as V1ObjectMeta, spec })
      else
        await client
          .update(kind, { metadata: { ...shown, resourceVersion: present.metadata.resourceVersion } as V1ObjectMeta, spec })
          .catch(ignoreConflict)
    }
    const look = () => loop.request()
    void Promise.all(sides.map(({ synced }) => synced)).then(() => {
      for (const side of sides) side.addHandler({ onAdd: look, onUpdate: look, onDelete: look })
      look()
    })
    for (const side of sides) side.start()
    return {
      async stop() {
        for (const side of sides) side.stop()
        await loop.stop()
      },
    }
  })
  return {
    async stop() {
      for (const mirror of mirrors) await mirror.stop()
    },
  }
}

const keyOf = ({ metadata }: Mirrored): string => `${metadata.namespace ?? ''}/${metadata.name}`

function plainAnnotations({ annotations }: V1ObjectMeta): Record<string, string> | undefined {
  const own = Object.entries(annotations ?? {}).filter(([key]) => key !== lastApplied)
  return own.length === 0 ? undefined : Object.fromEntries(own)
}

const sorted = (map: Record<string, string> | undefined): [string, string][] => Object.entries(map ?? {}).sort()

const textOf = (object: Mirrored | undefined): string | undefined =>
  object && JSON.stringify([sorted(object.metadata.labels), sorted(plainAnnotations(object.metadata)), stable(object.spec)])

/** The same text for the same value, in whatever order its fields were written. */
function stable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stable)
  if (value === null || typeof value !== 'object') return value
  return Object.entries(value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, inner]) => [key, stable(inner)])
}

function ignoreGone(error: unknown): void {
  if (!isNotFound(error)) throw error
}

/** It has changed meanwhile, and is looked at again. */
function ignoreConflict(error: unknown): void {
  if (!isConflict(error)) throw error
}
