import { dirname, resolve } from 'node:path'
import { jsYaml } from '#api/codec/js-yaml.ts'
import type { AccessSeams } from '#apiserver/access/settings.ts'
import { type PluginConfigurations, readAdmissionConfiguration } from '#apiserver/admission/configuration.ts'
import { type ReviewWebhook, reviewWebhook } from '#apiserver/authn/webhook/review-webhook.ts'
import { readWebhookKubeconfig } from '#apiserver/authn/webhook/webhook-kubeconfig.ts'

/** What the AdmissionConfiguration tells each plugin. */
export async function pluginConfigurations(path: string, { files }: Pick<AccessSeams, 'files'>): Promise<PluginConfigurations> {
  if (path === '') return new Map()
  const { load } = jsYaml()
  try {
    return await readAdmissionConfiguration(load(await files.readText(path)), async (other) =>
      load(await files.readText(resolve(dirname(path), other))),
    )
  } catch (error) {
    throw new Error(`--admission-control-config-file ${path}: ${error instanceof Error ? error.message : error}`, { cause: error })
  }
}

const timeoutMs = 30_000

/** Senders to services that admission plugins ask; the kubeconfig is read when the first request is sent. */
export function admissionWebhooks(
  seams: AccessSeams,
  connections: Set<Disposable>,
): (kubeconfigPath: string, retryDelayMs: number) => ReviewWebhook {
  const { files, http, clock, random } = seams
  return (kubeconfigPath, retryDelayMs) => {
    let sender: Promise<ReviewWebhook> | undefined
    const open = async () => {
      const target = await readWebhookKubeconfig(files, kubeconfigPath)
      const client = http(target.connection)
      connections.add(client)
      return reviewWebhook({ target, http: client, clock, random, timeoutMs, retry: { firstDelayMs: retryDelayMs, attempts: 5 } })
    }
    return async (review) => {
      sender ??= open().catch((error: unknown) => {
        sender = undefined
        throw error
      })
      return (await sender)(review)
    }
  }
}
