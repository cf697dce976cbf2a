/** From a kubeconfig, or from inside of a pod, to a transport. */
import type { Clock } from '#base/clock.ts'
import type { Files } from '#base/files.ts'
import type { HttpClient, HttpClientOptions } from '#base/http-client.ts'
import type { Processes } from '#base/processes.ts'
import { httpTransport } from '#client/http-transport.ts'
import { ExecCredentials } from '#client/kubeconfig/exec-plugin.ts'
import type { KubeconfigContext, KubeconfigUser } from '#client/kubeconfig/kubeconfig.ts'
import type { Transport } from '#client/transport.ts'

export type ConnectSeams = { files: Files; processes: Processes; clock: Clock; http(options: HttpClientOptions): HttpClient }

/** How long a token that was read from a file is believed: files of tokens are renewed while we run. */
const tokenFileMs = 10_000

export async function connect({ cluster, user }: KubeconfigContext, seams: ConnectSeams): Promise<Transport> {
  const exec = user.exec === undefined ? undefined : new ExecCredentials(user.exec, cluster, seams)
  const first = await exec?.get()
  const certificate = first?.clientCertificateData ?? user.certificate
  const key = first?.clientKeyData ?? user.key
  const http = seams.http({
    ...(cluster.authority === undefined ? {} : { ca: cluster.authority }),
    ...(cluster.serverName === undefined ? {} : { serverName: cluster.serverName }),
    ...(certificate === undefined ? {} : { cert: certificate }),
    ...(key === undefined ? {} : { key }),
    insecureSkipVerify: cluster.skipsVerification,
  })
  const authorization = exec === undefined ? authorizationOf(user, seams) : async () => bearer((await exec.get()).token)
  return httpTransport({ http, server: cluster.server, authorization, headers: impersonationHeaders(user) })
}

const serviceAccountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount'

/** For processes in pods; undefined elsewhere. */
export async function connectInCluster(
  environment: Readonly<Record<string, string | undefined>>,
  seams: ConnectSeams,
): Promise<Transport | undefined> {
  const host = environment['KUBERNETES_SERVICE_HOST']
  const port = environment['KUBERNETES_SERVICE_PORT']
  if (!host || !port) return undefined
  const authority = await seams.files.readTextIfPresent(`${serviceAccountDirectory}/ca.crt`)
  const cluster = {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    skipsVerification: false,
    ...(authority === undefined ? {} : { authority }),
  }
  return connect({ name: 'in-cluster', namespace: '', cluster, user: { tokenFile: `${serviceAccountDirectory}/token` } }, seams)
}

const bearer = (token: string | undefined): string | undefined => (token ? `Bearer ${token.trim()}` : undefined)

function authorizationOf({ token, tokenFile, username, password }: KubeconfigUser, { files, clock }: ConnectSeams) {
  if (username !== undefined) {
    const basic = `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}`
    return async () => basic
  }
  if (tokenFile === undefined) return async () => bearer(token)
  let read: { text: string; atMs: number } | undefined
  return async () => {
    if (read === undefined || clock.now() - read.atMs > tokenFileMs) read = { text: await files.readText(tokenFile), atMs: clock.now() }
    return bearer(read.text)
  }
}

function impersonationHeaders({ impersonate }: KubeconfigUser): Record<string, string | string[]> {
  if (impersonate === undefined) return {}
  const { user, uid, groups, extra } = impersonate
  return {
    'impersonate-user': user,
    ...(uid === '' ? {} : { 'impersonate-uid': uid }),
    ...(groups.length === 0 ? {} : { 'impersonate-group': [...groups] }),
    ...Object.fromEntries(
      Object.entries(extra).map(([key, values]) => [`impersonate-extra-${encodeURIComponent(key.toLowerCase())}`, [...values]]),
    ),
  }
}
