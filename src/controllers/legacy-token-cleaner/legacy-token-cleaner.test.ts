import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Secret } from '#api/core/v1/types.gen.ts'
import { StatusError } from '#api/meta/status-error.ts'
import { formatTime } from '#api/meta/time.ts'
import { silentLogger } from '#base/log.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { cleanUpTokens } from '#controllers/legacy-token-cleaner/legacy-token-cleaner.ts'
import { defaultSettings } from '#controllers/runtime/settings.ts'

const lastUsed = 'kubernetes.io/legacy-token-last-used'
const invalidSince = 'kubernetes.io/legacy-token-invalid-since'
const dayMs = 86_400_000

type Case = {
  name: string
  labels?: Record<string, string>
  trackedSince?: string
  isMounted?: boolean
  isUnlisted?: boolean
  /** Which of the writes goes wrong: it never arrives, or is done and nobody hears of it. */
  fault?: { at: number; how: 'refused' | 'lost' }
  /** What becomes of the token: the label it has, or that it is gone, after so many days. */
  after: [days: number, fate: string][]
}

// Tokens may go unused for 30 days here; time begins on the first of January 2026.
const cases: Case[] = [
  {
    name: 'a token that nobody used is switched off after the period, and deleted another period later',
    after: [
      [29, 'kept'],
      [33, 'off since 2026-02-01'],
      [60, 'off since 2026-02-01'],
      [64, 'gone'],
    ],
  },
  {
    name: 'a token that was used lately is kept',
    labels: { [lastUsed]: '2026-01-20' },
    after: [
      [48, 'kept'],
      [53, 'off since 2026-02-20'],
    ],
  },
  { name: 'a token whose last use cannot be read is kept', labels: { [lastUsed]: 'lately' }, after: [[90, 'kept']] },
  { name: 'a token that a pod mounts is kept', isMounted: true, after: [[90, 'kept']] },
  { name: 'a token that somebody asked for is kept', isUnlisted: true, after: [[90, 'kept']] },
  {
    name: 'where the server began to watch later, the period begins then',
    trackedSince: '2026-01-20',
    after: [
      [45, 'kept'],
      [53, 'off since 2026-02-20'],
    ],
  },
  ...([0, 1] as const).flatMap((at) =>
    (['refused', 'lost'] as const).map((how): Case => {
      const [offDay, goneDay] = [how === 'refused' && at === 0 ? '02' : '01', how === 'refused' ? 65 : 64]
      return {
        name: `write ${at} is ${how}: what is left to do is done a day later`,
        fault: { at, how },
        after: [
          [33, `off since 2026-02-${offDay}`],
          [goneDay, 'gone'],
        ],
      }
    }),
  ),
  { name: 'where the server does not watch, everything is kept', trackedSince: '', after: [[90, 'kept']] },
]

for (const { name, labels = {}, trackedSince = '2025-12-31', isMounted, isUnlisted, fault, after } of cases) {
  test(name, async () => {
    const clock = new VirtualClock()
    const account = { metadata: { namespace: 'default', name: 'robot', uid: 'u1' }, secrets: isUnlisted ? [] : [{ name: 'robot-token' }] }
    const annotations = { 'kubernetes.io/service-account.name': 'robot', 'kubernetes.io/service-account.uid': 'u1' }
    const volumes = isMounted ? [{ name: 'token', secret: { secretName: 'robot-token' } }] : []
    const pod = { metadata: { namespace: 'default', name: 'p' }, spec: { volumes, containers: [] } }
    const creationTimestamp = formatTime(clock.now())
    let secret: V1Secret | undefined = {
      metadata: { namespace: 'default', name: 'robot-token', annotations, labels, creationTimestamp },
      type: 'kubernetes.io/service-account-token',
    }
    const listed = (kind: { plural: string }) => (kind.plural === 'secrets' ? (secret === undefined ? [] : [secret]) : [pod])
    let writes = 0
    const write = (done: () => void) => {
      const how = writes++ === fault?.at ? fault.how : undefined
      if (how !== 'refused') done()
      if (how !== undefined) throw new Error('the connection broke')
    }
    const context = {
      clock,
      logger: silentLogger,
      settings: { ...defaultSettings, legacyTokenCleanUpPeriodMs: 30 * dayMs },
      cache: { list: listed, get: () => account },
      client: {
        async get() {
          if (trackedSince === '') throw new StatusError({ reason: 'NotFound', code: 404 })
          return { data: { since: trackedSince } }
        },
        async patch(_kind: unknown, _place: unknown, patch: { metadata: { labels: object } }) {
          write(() => {
            if (secret !== undefined)
              secret = { ...secret, metadata: { ...secret.metadata, labels: { ...labels, ...patch.metadata.labels } } }
          })
        },
        async delete() {
          write(() => {
            secret = undefined
          })
        },
      },
    } as unknown as Parameters<typeof cleanUpTokens>[0]
    for (let day = 0; day <= 90; day++) {
      await cleanUpTokens(context)
      const expected = after.find(([days]) => days === day)
      if (expected !== undefined) assert.equal(fateOf(secret), expected[1], `after ${day} days`)
      await clock.advance(dayMs)
    }
  })
}

function fateOf(secret: V1Secret | undefined): string {
  if (secret === undefined) return 'gone'
  const since = secret.metadata.labels?.[invalidSince]
  return since === undefined ? 'kept' : `off since ${since}`
}
