import { X509Certificate } from 'node:crypto'
import type { Files } from '#base/files.ts'
import { Kubeconfig } from '#client/kubeconfig/kubeconfig.ts'

/** When the certificate in the kubeconfig has ended; undefined while it is good. Nobody can renew one that has. */
export async function certificateEnd(kubeconfig: string, { files, nowMs }: { files: Files; nowMs: number }): Promise<string | undefined> {
  const { user } = await (await Kubeconfig.read(files, kubeconfig)).context(undefined)
  if (user.certificate === undefined) return undefined
  const { validToDate } = new X509Certificate(user.certificate)
  return validToDate.getTime() < nowMs ? validToDate.toISOString() : undefined
}
