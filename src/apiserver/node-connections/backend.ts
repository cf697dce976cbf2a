/** Servers that requests are passed on to: kubelets, pods, the pods behind services. */

import type { RequestContext } from '#apiserver/http/context.ts'
import { inProcess } from '#apiserver/http/in-process-exchange.ts'
import { TrustedConnection } from '#apiserver/http/trusted-connection.ts'
import { dialTrouble } from '#apiserver/node-connections/dial-trouble.ts'
import { defined } from '#base/defined.ts'
import type { HttpExchange } from '#base/http-server.ts'
import type { PassedAnswer, PassedRequest, UpgradeClient } from '#base/upgrade-client.ts'

export type BackendRequest = Omit<PassedRequest, 'url'> & {
  /** Path and query. */
  target: string
}

/** `send` rejects with an error whose message is what clients are told, as upstream's dialer would put it. */
export type Backend = {
  /** `10.0.0.7:8080` */
  readonly host: string
  readonly scheme: 'http' | 'https'
  send(request: BackendRequest): Promise<PassedAnswer>
}

export function socketBackend(client: UpgradeClient, scheme: 'http' | 'https', host: string): Backend {
  return {
    host,
    scheme,
    async send({ target, ...request }) {
      try {
        return await client.send({ ...request, url: `${scheme}://${host}${target}` })
      } catch (error) {
        throw new Error(dialTrouble(error, host, scheme), { cause: error })
      }
    },
  }
}

/** A kubelet in this very process: the same requests, without a socket. It cannot change protocols. */
export function inProcessBackend(handle: (exchange: HttpExchange) => void, nodeName: string): Backend {
  const send = inProcess(handle, new TrustedConnection({ name: 'kube-apiserver-kubelet-client', groups: ['system:masters'], extra: {} }))
  return {
    host: nodeName,
    scheme: 'https',
    async send({ method, target, headers, body, signal }) {
      const given = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
      const answer = await send({ method, target, headers: given, ...defined({ signal, bodyPieces: body }) })
      const names = Object.entries(answer.headers).flatMap(([name, value]) => (value === undefined ? [] : [name, String(value)]))
      return { status: answer.status, headers: answer.headers as PassedAnswer['headers'], rawHeaders: names, body: answer.chunks() }
    },
  }
}

/** Aborts when the client goes away. */
export function clientSignal({ exchange }: Pick<RequestContext, 'exchange'>): AbortSignal {
  const controller = new AbortController()
  exchange.onClose(() => controller.abort(new Error('context canceled')))
  return controller.signal
}
