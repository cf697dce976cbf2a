import { readWebhookKubeconfig } from '#apiserver/authn/webhook/webhook-kubeconfig.ts'
import { nodeFiles } from '#base/files.ts'
import { nodeHttpClient } from '#base/http-client.ts'
import { Client } from '#client/client.ts'
import { httpTransport } from '#client/http-transport.ts'
import { kubernetesVersion } from '#cmd/version.ts'

export async function clientFromKubeconfig(path: string): Promise<Client & Disposable> {
  const { url, connection, headers } = await readWebhookKubeconfig(nodeFiles, path)
  const http = nodeHttpClient(connection)
  const client = new Client({ transport: httpTransport({ http, server: url, headers }), userAgent: `kube-scheduler/${kubernetesVersion}` })
  return Object.assign(client, { [Symbol.dispose]: () => http[Symbol.dispose]() })
}
