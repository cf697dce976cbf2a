import { join } from 'node:path'
import type { V1TokenRequest } from '#api/authentication/v1/types.gen.ts'
import { ServiceAccount } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import type { Metrics } from '#base/metrics.ts'
import type { Processes } from '#base/processes.ts'
import type { Client } from '#client/client.ts'
import { CredentialProvider } from '#kubelet/images/credential-providers/credential-provider.ts'
import { readCredentialProviderConfig } from '#kubelet/images/credential-providers/credential-provider-config.ts'
import type { RegistryEntry } from '#kubelet/images/registry-credentials.ts'

/** What `--image-credential-provider-config` and `--image-credential-provider-bin-dir` say. */
export type CredentialProviderPaths = { config: string; programs: string }

export type CredentialProviderSeams = {
  client: Pick<Client, 'get' | 'subresource'>
  clock: Clock
  files: Files
  processes: Pick<Processes, 'run'>
  logger: Logger
  metrics: Metrics
}

/** What the node's programs know for a repository. One that fails is told of, and counts as knowing nothing. */
export type CredentialProviders = (repository: string, pod: V1Pod) => Promise<RegistryEntry[]>

const durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Rejects where the file is wrong, or a program is missing. */
export async function openCredentialProviders(
  { config, programs }: CredentialProviderPaths,
  { client, clock, files, processes, logger, metrics }: CredentialProviderSeams,
): Promise<CredentialProviders> {
  if ((await files.statTarget(programs)) === undefined) throw new Error(`plugin binary directory ${programs} did not exist`)
  const durations = metrics.histogram(
    'kubelet_credential_provider_plugin_duration',
    'Seconds that image credential providers took to answer.',
    durationBuckets,
  )
  const errors = metrics.counter('kubelet_credential_provider_plugin_errors_total', 'Runs of image credential providers that failed.')
  const parts = {
    ...{ clock, processes, client, directory: programs },
    token: (pod: V1Pod, { audience = '' }: { audience?: string }) => tokenFor(client, pod, audience),
    ran(name: string, seconds: number, isGood: boolean) {
      durations.observe(seconds, { plugin_name: name })
      if (!isGood) errors.inc({ plugin_name: name })
    },
  }
  const providers: CredentialProvider[] = []
  for (const each of await readCredentialProviderConfig(config, files)) {
    const program = join(programs, each.name)
    if ((await files.statTarget(program)) === undefined) throw new Error(`plugin binary executable ${program} did not exist`)
    providers.push(new CredentialProvider(each, parts))
  }
  return async (repository, pod) => {
    const found = await Promise.all(
      providers.map((provider) =>
        provider.entriesFor(repository, pod).catch((error: unknown) => {
          logger.warn('failed to get image pull credentials from credential provider', {
            ...{ provider: provider.name, image: repository, error: errorMessage(error) },
          })
          return []
        }),
      ),
    )
    return found.flat()
  }
}

async function tokenFor(client: Pick<Client, 'subresource'>, pod: V1Pod, audience: string): Promise<string> {
  const { namespace = '', name = '', uid = '' } = pod.metadata
  const body = {
    ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' },
    spec: { audiences: [audience], boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name, uid } },
  }
  const place = { namespace, name: pod.spec.serviceAccountName ?? '' }
  // The verb answers another kind than its parent's.
  const { status } = await client.subresource<V1TokenRequest>('POST', ServiceAccount as never, place, 'token', body)
  return status?.token ?? ''
}
