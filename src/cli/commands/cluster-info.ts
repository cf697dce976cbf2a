/** `kubectl cluster-info` */
import type { V1Service } from '#api/core/v1/types.gen.ts'
import type { Call } from '#cli/call.ts'

export async function clusterInfo({ host, session }: Call): Promise<void> {
  const rest = await session.rest
  const list = await rest.json<{ items: V1Service[] }>({
    path: '/api/v1/namespaces/kube-system/services',
    query: { labelSelector: 'kubernetes.io/cluster-service=true', limit: 500 },
  })
  const isColoured = host.terminal.outputIsTerminal
  const say = (name: string, url: string) =>
    host.write(isColoured ? `\u001b[0;32m${name}\u001b[0m is running at \u001b[0;33m${url}\u001b[0m\n` : `${name} is running at ${url}\n`)
  say('Kubernetes control plane', rest.server)
  for (const service of list.items) {
    const { metadata, spec, status } = service
    const [port] = spec?.ports ?? []
    const [ingress] = status?.loadBalancer?.ingress ?? []
    const scheme = port?.name === 'https' || port?.port === 443 ? 'https:' : ''
    const link =
      ingress === undefined
        ? `${rest.server}/api/v1/namespaces/${metadata?.namespace}/services/${scheme}${metadata?.name}${scheme !== '' || port?.name ? `:${port?.name ?? ''}` : ''}/proxy`
        : `http://${ingress.ip ?? ingress.hostname}${(spec?.ports ?? []).map((each) => `:${each.port}`).join('')}`
    say(metadata?.labels?.['kubernetes.io/name'] || metadata?.name || '', link)
  }
  host.write(`\nTo further debug and diagnose cluster problems, use 'kubectl cluster-info dump'.\n`)
}
