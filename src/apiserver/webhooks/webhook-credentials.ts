/** How this server shows itself to admission webhooks: a kubeconfig whose users are named after the hosts they are for. */
import type { WebhookCredentials } from '#apiserver/webhooks/webhook-calls.ts'
import type { Files } from '#base/files.ts'
import { authorizationOf } from '#client/kubeconfig/authorization.ts'
import { Kubeconfig, type KubeconfigUser } from '#client/kubeconfig/kubeconfig.ts'

/** Read with the first call; a file that cannot be read is tried again with the next. */
export function webhookCredentials(files: Files, path: string): (hostPort: string) => Promise<WebhookCredentials | undefined> {
  let reading: Promise<Kubeconfig> | undefined
  return async (hostPort) => {
    reading ??= Kubeconfig.read(files, path).catch((error: unknown) => {
      reading = undefined
      throw error
    })
    const kubeconfig = await reading
    const users = new Set(kubeconfig.users)
    const name = nicknames(hostPort).find((each) => users.has(each))
    const user = name === undefined ? await kubeconfig.currentUser() : await kubeconfig.user(name)
    return user && credentialsOf(files, user)
  }
}

/** `hook.ns.svc:443`, `*.ns.svc:443`, …, the same without the usual port, and `*` for everybody. */
function nicknames(hostPort: string): string[] {
  const stars = (host: string) => {
    const parts = host.split('.')
    return [host, ...parts.slice(1).map((_, index) => `*.${parts.slice(index + 1).join('.')}`)]
  }
  const usual = hostPort.endsWith(':443') ? stars(hostPort.slice(0, -':443'.length)) : []
  return [...stars(hostPort), ...usual, '*']
}

async function credentialsOf(files: Files, user: KubeconfigUser): Promise<WebhookCredentials> {
  const { certificate: cert, key } = user
  const authorization = await authorizationOf(user, files)
  return { connection: cert && key ? { cert, key } : {}, headers: authorization ? { authorization } : {} }
}
