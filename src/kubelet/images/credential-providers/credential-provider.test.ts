import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { nodeFiles } from '#base/files.ts'
import { type LogRecord, recordingLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { nodeProcesses } from '#base/processes.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { openCredentialProviders } from '#kubelet/images/credential-providers/open-credential-providers.ts'

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1'

/** A program that answers with a file of its directory, and notes what it was asked. */
const program = '#!/bin/sh\ncat >> "$PLACE/asked"; echo >> "$PLACE/asked"; cat "$PLACE/$1"\n'

type Place = {
  directory: string
  clock: VirtualClock
  metrics: Metrics
  log: LogRecord[]
  answer(answer: object | string): void
  asked(): Record<string, unknown>[]
  open(provider?: object): ReturnType<typeof openCredentialProviders>
}

const aPod = (spec: Partial<V1Pod['spec']> = {}): V1Pod => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'ns', uid: 'u' } },
  spec: { containers: [], ...spec },
})

async function inPlace(run: (place: Place) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'providers '))
  const programs = join(directory, 'bin')
  mkdirSync(programs)
  writeFileSync(join(programs, 'cloud'), program)
  chmodSync(join(programs, 'cloud'), 0o755)
  const clock = new VirtualClock()
  const metrics = new Metrics()
  const log: LogRecord[] = []
  const logger = recordingLogger(log)
  const client = {
    get: async () => ({ metadata: { name: 'sa', uid: 'sa-1', annotations: { role: 'puller', other: 'x' } } }),
    subresource: async (_: string, __: unknown, { name }: { name: string }, ___: string, body: { spec: { audiences: string[] } }) => ({
      status: { token: `${name} for ${body.spec.audiences[0]}` },
    }),
  }
  const open = (provider: object = {}) => {
    const all = { name: 'cloud', matchImages: ['*.reg.io'], defaultCacheDuration: '1m', apiVersion, args: ['answer'], ...provider }
    const providers = [{ env: [{ name: 'PLACE', value: directory }], ...all }]
    const config = join(directory, 'config.json')
    writeFileSync(config, JSON.stringify({ kind: 'CredentialProviderConfig', apiVersion: 'kubelet.config.k8s.io/v1', providers }))
    return openCredentialProviders(
      { config, programs },
      { client: client as never, clock, files: nodeFiles, processes: nodeProcesses, logger, metrics },
    )
  }
  const write = (name: string) => (text: object | string) =>
    writeFileSync(
      join(directory, name),
      typeof text === 'string' ? text : JSON.stringify({ kind: 'CredentialProviderResponse', apiVersion, ...text }),
    )
  const asked = () =>
    readFileSync(join(directory, 'asked'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  try {
    await run({ directory, clock, metrics, log, answer: write('answer'), asked, open })
  } finally {
    rmSync(directory, { recursive: true })
  }
}

const errorIn = (log: LogRecord[]) => String(log.at(-1)?.fields['error'])

const auth = { 'eu.reg.io': { username: 'u', password: 'p' } }
const entry = { place: 'eu.reg.io', auth: { username: 'u', password: 'p' } }

test('a program is asked for credentials of its registries, and not again while its answer is good', () =>
  inPlace(async ({ answer, asked, open, clock, metrics }) => {
    answer({ cacheKeyType: 'Registry', cacheDuration: '10s', auth })
    const providers = await open()
    assert.deepEqual(await providers('eu.reg.io/team/app', aPod()), [entry])
    assert.deepEqual(asked(), [{ kind: 'CredentialProviderRequest', apiVersion, image: 'eu.reg.io/team/app' }])
    assert.deepEqual(await providers('eu.reg.io/other', aPod()), [entry])
    assert.deepEqual(await providers('docker.io/library/app', aPod()), [])
    assert.equal(asked().length, 1)
    await clock.advance({ seconds: 11 })
    assert.deepEqual(await providers('eu.reg.io/other', aPod()), [entry])
    assert.equal(asked().length, 2)
    assert.match(metrics.text(), /kubelet_credential_provider_plugin_duration_count\{plugin_name="cloud"\} 2/)
  }))

test('an answer is kept for the image alone, for all images, or not at all, as it says', () =>
  inPlace(async ({ answer, asked, open }) => {
    const providers = await open({ defaultCacheDuration: '0s' })
    answer({ cacheKeyType: 'Image', cacheDuration: '1h', auth })
    await providers('eu.reg.io/a', aPod())
    await providers('eu.reg.io/b', aPod())
    assert.equal(asked().length, 2)
    answer({ cacheKeyType: 'Registry', auth })
    await providers('us.reg.io/a', aPod())
    await providers('us.reg.io/a', aPod())
    assert.equal(asked().length, 4, 'not kept for want of a duration')
    answer({ cacheKeyType: 'Global', cacheDuration: '1h', auth })
    await providers('us.reg.io/a', aPod())
    await providers('as.reg.io/a', aPod())
    assert.equal(asked().length, 5)
  }))

test('a program that fails, or answers something else, is told of and gives nothing; its words are not repeated', () =>
  inPlace(async ({ answer, open, log, metrics, directory }) => {
    const providers = await open()
    for (const [text, expected] of [
      ['{"password": "secret"', 'error decoding credential provider plugin response from stdout'],
      [{ apiVersion: 'v9', auth }, `did not match expected apiVersion:${apiVersion}, actual apiVersion:v9`],
      [{ auth }, 'did not return a valid cacheKeyType: '],
    ] as const) {
      answer(text)
      assert.deepEqual(await providers('eu.reg.io/a', aPod()), [])
      assert.ok(errorIn(log).includes(expected), errorIn(log))
    }
    rmSync(join(directory, 'answer'))
    assert.deepEqual(await providers('eu.reg.io/a', aPod()), [])
    assert.match(errorIn(log), /error execing credential provider plugin cloud for image eu.reg.io\/a: exit status 1/)
    assert.match(metrics.text(), /kubelet_credential_provider_plugin_errors_total\{plugin_name="cloud"\} 1/)
    assert.ok(!JSON.stringify(log).includes('secret'))
  }))

test('a program may be given a token of the pod’s service account, and what it gives is for that account', () =>
  inPlace(async ({ answer, asked, open, log }) => {
    const tokenAttributes = { serviceAccountTokenAudience: 'reg', cacheType: 'ServiceAccount', requireServiceAccount: true }
    const keys = { requiredServiceAccountAnnotationKeys: ['role'], optionalServiceAccountAnnotationKeys: ['none'] }
    const providers = await open({ tokenAttributes: { ...tokenAttributes, ...keys } })
    answer({ cacheKeyType: 'Image', auth })
    assert.deepEqual(await providers('eu.reg.io/a', aPod()), [], 'no account')
    const account = { uid: 'sa-1', namespace: 'ns', name: 'sa' }
    assert.deepEqual(await providers('eu.reg.io/a', aPod({ serviceAccountName: 'sa' })), [{ ...entry, account }])
    const { serviceAccountToken, serviceAccountAnnotations } = asked()[0] ?? {}
    assert.deepEqual([serviceAccountToken, serviceAccountAnnotations], ['sa for reg', { role: 'puller' }])
    answer({ cacheKeyType: 'Image', auth: { 'eu.reg.io': { username: 'u', password: 'sa for reg' } } })
    assert.deepEqual(await providers('eu.reg.io/b', aPod({ serviceAccountName: 'sa' })), [])
    assert.match(errorIn(log), /returned the service account token as the password/)
  }))

test('a program is not asked for pods whose service account lacks a required annotation', () =>
  inPlace(async ({ open, log }) => {
    const tokenAttributes = { serviceAccountTokenAudience: 'reg', cacheType: 'Token', requireServiceAccount: true }
    const providers = await open({ tokenAttributes: { ...tokenAttributes, requiredServiceAccountAnnotationKeys: ['missing'] } })
    assert.deepEqual(await providers('eu.reg.io/a', aPod({ serviceAccountName: 'sa' })), [])
    assert.deepEqual(log, [])
  }))

for (const [provider, message] of [
  [{ name: 'a/b' }, `providers.name: Invalid value: "a/b": provider name cannot contain '/'`],
  [{ matchImages: [] }, 'providers.matchImages: Required value: at least 1 item in matchImages is required'],
  [{ defaultCacheDuration: undefined }, 'providers.defaultCacheDuration: Required value'],
  [{ tokenAttributes: {} }, 'providers.tokenAttributes.serviceAccountTokenAudience: Required value'],
] as const) {
  test(`a configuration with ${JSON.stringify(provider)} is refused`, () =>
    inPlace(async ({ open }) => {
      await assert.rejects(open(provider), (error: Error) =>
        error.message.startsWith(`failed to validate credential provider config: ${message}`),
      )
    }))
}

test('a program that is not there is missed at once', () =>
  inPlace(async ({ open, directory }) => {
    await assert.rejects(open({ name: 'nobody' }), { message: `plugin binary executable ${directory}/bin/nobody did not exist` })
  }))
