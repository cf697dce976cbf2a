import { join } from 'node:path'
import { readWebhookKubeconfig, type WebhookTarget } from '#apiserver/authn/webhook/webhook-kubeconfig.ts'
import { nodeFiles } from '#base/files.ts'
import { type HttpClient, nodeHttpClient } from '#base/http-client.ts'
import { Client } from '#client/client.ts'
import { httpTransport } from '#client/http-transport.ts'

/** How a command reaches a cluster: by its data directory, unless a kubeconfig is named. */
export type ClusterPlace = { dataDir: string; kubeconfig: string }

export async function withAdminClient<T>(
  { dataDir, kubeconfig }: ClusterPlace,
  use: (client: Client, target: WebhookTarget, http: HttpClient) => Promise<T>,
): Promise<T> {
  const target = await readWebhookKubeconfig(nodeFiles, kubeconfig || join(dataDir, 'admin.kubeconfig'))
  const { url, connection, headers } = target
  using http = nodeHttpClient(connection)
  return await use(new Client({ transport: httpTransport({ http, server: url, headers }), userAgent: 'typernetes' }), target, http)
}
