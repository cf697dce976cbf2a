/**
 * Another key for secrets while the cluster runs. Every API server must be able to read with the new key before any of them writes with
 * it, and everything must be written with it before the old one goes:
 *
 *   [old] --add--> [old, new] --use--> [new, old] --drop--> [new]
 */
import { configInUse, configRewritten } from '#apiserver/access/encryption.ts'
import { configurationHash } from '#apiserver/encryption/encryption-at-rest.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import type { HttpClient } from '#base/http-client.ts'
import { thisProcess } from '#base/machine.ts'
import type { OptionValues } from '#base/options.ts'
import { systemRandom } from '#base/random.ts'
import { withAdminClient } from '#cmd/running/admin-client.ts'
import type { rotationOptions } from '#cmd/secrets/command.ts'
import { ownKeys } from '#cmd/secrets/own-keys.ts'
import { type EncryptionKey, newEncryptionKey, ownEncryptionPath, writeOwnEncryption } from '#cmd/up/own-encryption.ts'

const patienceMs = 10 * 60_000
const lookEveryMs = 100

const phases = ['add', 'use', 'drop'] as const
type RotationPhase = (typeof phases)[number]

export async function rotateKey(options: OptionValues<typeof rotationOptions>): Promise<void> {
  const { dataDir, phase } = options
  const first = await ownKeys(dataDir)
  if (first === undefined)
    throw new Error(`the cluster in ${dataDir} has no key of its own for secrets; typernetes secrets encrypt makes one`)
  await withAdminClient(options, async (_client, { url, headers }, http) => {
    const metrics = async () => await metricsText(http, url, headers)
    let keys = first
    for (const step of phase === 'all' ? phases : [phase as RotationPhase]) {
      keys = keysAfter(step, keys, newEncryptionKey(keys, systemRandom))
      const text = await writeOwnEncryption(nodeFiles, ownEncryptionPath(dataDir), keys)
      // Old values are read until everything is new.
      await until(metrics, step === 'use' ? [configInUse, configRewritten] : [configInUse], configurationHash(text))
      thisProcess.print(said[step](keys))
    }
  })
}

const said: Record<RotationPhase, (keys: readonly EncryptionKey[]) => string> = {
  add: (keys) => `${keys.at(-1)?.name} was added: it is read with`,
  use: ([key]) => `${key?.name} is written with, and all secrets are written anew`,
  drop: ([key]) => `${key?.name} is the only key now`,
}

/** `fresh` is taken where the phase adds one; what a phase has done already it does not do again. */
export function keysAfter(phase: RotationPhase, keys: readonly EncryptionKey[], fresh: EncryptionKey): EncryptionKey[] {
  if (phase === 'add') return keys.length > 1 ? [...keys] : [...keys, fresh]
  return phase === 'use' ? newestFirst(keys) : newestFirst(keys).slice(0, 1)
}

function newestFirst(keys: readonly EncryptionKey[]): EncryptionKey[] {
  const number = ({ name }: EncryptionKey) => Number(/(?<!\d)\d+$/.exec(name)?.[0] ?? 0)
  return keys.toSorted((one, other) => number(other) - number(one))
}

async function metricsText(http: HttpClient, url: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const response = await http.request({ url: `${url}/metrics`, headers })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`the API server does not tell how far it is: ${response.status} ${text.slice(0, 200)}`)
  return text
}

/** Until no API server of the process says anything else. */
async function until(metrics: () => Promise<string>, names: readonly string[], hash: string): Promise<void> {
  const deadlineMs = systemClock.now() + patienceMs
  for (;;) {
    const text = await metrics()
    if (names.every((name) => hashesIn(text, name).every((one) => one === hash))) return
    if (systemClock.now() > deadlineMs) throw new Error('the API server has not taken over the keys after 10 minutes; see its log')
    await systemClock.sleep(lookEveryMs)
  }
}

function hashesIn(text: string, name: string): string[] {
  const found = [...text.matchAll(new RegExp(`^${name}\\{.*?hash="([^"]*)"`, 'gm'))].map(([, hash = '']) => hash)
  if (found.length === 0) throw new Error('the cluster runs without its key for secrets; start it anew first')
  return found
}
