import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import type { HttpClientOptions } from '#base/http-client.ts'
import { authorizationOf } from '#client/kubeconfig/authorization.ts'
import { tlsOf } from '#client/kubeconfig/connect.ts'
import { Kubeconfig } from '#client/kubeconfig/kubeconfig.ts'

/** Where a webhook is, and how to be let in there. */
export type WebhookTarget = { url: string; connection: HttpClientOptions; headers: Record<string, string> }

/** A webhook is described by a kubeconfig: the cluster is the service, the user is how this server shows itself. */
export async function readWebhookKubeconfig(files: Files, path: string): Promise<WebhookTarget> {
  try {
    const { cluster, user } = await (await Kubeconfig.read(files, path)).currentOrOnly()
    if (cluster.server === '') throw new Error('there is no cluster with a server to ask')
    const authorization = await authorizationOf(user, files)
    return {
      url: cluster.server,
      connection: tlsOf(cluster, user.certificate, user.key),
      headers: authorization === undefined ? {} : { authorization },
    }
  } catch (error) {
    throw new Error(`${path}: ${errorMessage(error)}`, { cause: error })
  }
}
