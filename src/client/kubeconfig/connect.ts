/** From a kubeconfig, or from inside of a pod, to a transport. */

import type { Clock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import type { Files } from '#base/files.ts'
import type { HttpClient, HttpClientOptions } from '#base/http-client.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import type { Processes } from '#base/processes.ts'
import type { Terminal } from '#base/terminal.ts'
import { httpTransport } from '#client/http-transport.ts'
import { authorizationOf, bearer } from '#client/kubeconfig/authorization.ts'
import { ExecCredentials } from '#client/kubeconfig/exec-plugin.ts'
import type { KubeconfigCluster, KubeconfigContext, KubeconfigUser } from '#client/kubeconfig/kubeconfig.ts'
import { type OidcConfig, OidcTokens } from '#client/kubeconfig/oidc-tokens.ts'
import type { Transport } from '#client/transport.ts'

export type ConnectSeams = {
  files: Files
  processes: Processes
  clock: Clock
  /** Where a person may be who is asked; ours unless said. */
  terminal?: Pick<Terminal, 'inputIsTerminal'>
  http(options: HttpClientOptions): HttpClient
  /** Writes the new tokens of an auth provider to where the old ones came from. */
  keepProvider?(config: OidcConfig): Promise<void>
}

/** How long a token that was read from a file is believed: files of tokens are renewed while we run. */
const tokenFileMs = 10_000

/** As the context says; a program that gives credentials is asked when they are first needed. */
export async function connect({ cluster, user }: KubeconfigContext, seams: ConnectSeams): Promise<Transport> {
  const headers = impersonationHeaders(user)
  if (user.exec !== undefined) return connectByProgram(new ExecCredentials(user.exec, cluster, seams), cluster, headers, seams)
  const http = seams.http(tlsOf(cluster, user.certificate, user.key))
  return httpTransport({ http, server: cluster.server, authorization: renewedAuthorization(user, seams), headers })
}

/** Certificates belong to connections: another one needs others. */
function connectByProgram(
  exec: ExecCredentials,
  cluster: KubeconfigCluster,
  headers: Record<string, string | string[]>,
  seams: ConnectSeams,
): Transport {
  let open: { certificate: string | undefined; http: HttpClient } | undefined
  return {
    async send(request) {
      const credential = await exec.get()
      const { clientCertificateData: certificate, clientKeyData: key, token } = credential
      if (open === undefined || open.certificate !== certificate) {
        // The old connections are left to those who still read from them.
        open = { certificate, http: seams.http(tlsOf(cluster, certificate, key)) }
      }
      const authorization = async () => bearer(token)
      const response = await httpTransport({ http: open.http, server: cluster.server, authorization, headers }).send(request)
      if (response.status === 401) exec.refuse(credential)
      return response
    },
  }
}

export function tlsOf(cluster: KubeconfigCluster, certificate: string | undefined, key: string | undefined): HttpClientOptions {
  return {
    ...defined({ ca: cluster.authority, serverName: cluster.serverName, cert: certificate, key, proxyUrl: cluster.proxyUrl }),
    ...omitEmpty({ insecureSkipVerify: cluster.skipsVerification }),
  }
}

const serviceAccountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount'

/** What a process in a pod knows of its cluster; undefined elsewhere. */
export async function inClusterContext(
  environment: Readonly<Record<string, string | undefined>>,
  files: Files,
): Promise<KubeconfigContext | undefined> {
  const host = environment['KUBERNETES_SERVICE_HOST']
  const port = environment['KUBERNETES_SERVICE_PORT']
  if (!host || !port) return undefined
  const namespace = await files.readTextIfPresent(`${serviceAccountDirectory}/namespace`)
  const authority = await files.readTextIfPresent(`${serviceAccountDirectory}/ca.crt`)
  const cluster = {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    skipsVerification: false,
    ...defined({ authority }),
  }
  return { name: 'in-cluster', namespace: namespace?.trim() ?? '', cluster, user: { tokenFile: `${serviceAccountDirectory}/token` } }
}

function renewedAuthorization(user: KubeconfigUser, seams: ConnectSeams): () => Promise<string | undefined> {
  const { files, clock, http, keepProvider } = seams
  if (user.authProvider !== undefined) {
    const { name, config, authority } = user.authProvider
    if (name !== 'oidc') throw new Error(`no Auth Provider found for name ${JSON.stringify(name)}`)
    const tokens = new OidcTokens(config, { clock, http, ...defined({ authority, keep: keepProvider }) })
    return async () => bearer(await tokens.get())
  }
  let read: { text: string | undefined; atMs: number } | undefined
  return async () => {
    const isOld = read === undefined || (user.tokenFile !== undefined && clock.now() - read.atMs > tokenFileMs)
    if (read === undefined || isOld) read = { text: await authorizationOf(user, files), atMs: clock.now() }
    return read.text
  }
}

function impersonationHeaders({ impersonate }: KubeconfigUser): Record<string, string | string[]> {
  if (impersonate === undefined) return {}
  const { user, uid, groups, extra } = impersonate
  return {
    'impersonate-user': user,
    ...omitEmpty({ 'impersonate-uid': uid, 'impersonate-group': [...groups] }),
    ...Object.fromEntries(
      Object.entries(extra).map(([key, values]) => [`impersonate-extra-${encodeURIComponent(key.toLowerCase())}`, [...values]]),
    ),
  }
}
