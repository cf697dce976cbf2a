/** CSI drivers, called through the kubelets of the nodes that they are registered with: a driver needs a socket there and nothing else. */

import { isNotFound } from '#api/meta/server-response.ts'
import type { Clock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { Client } from '#client/client.ts'
import type { CsiCaller } from '#wire/csi/csi-driver.ts'
import { csiMethods } from '#wire/csi/csi-messages.ts'
import type { CsiMethodName, CsiRequest, CsiResponse } from '#wire/csi/csi-types.ts'
import type { GrpcMethod } from '#wire/grpc-method.ts'

type Answer = { response: string } | { code: number; message: string }

export class NodeIsGone extends Error {
  override name = 'NodeIsGone'
}

/** The answer may come later than the driver's own time is over, but not by much. */
const graceMs = 5000

export type NodeCsiCallerOptions = { client: Pick<Client, 'post'>; clock: Clock; nodeName: string; driver: string }

export function nodeCsiCaller({ client, clock, nodeName, driver }: NodeCsiCallerOptions): CsiCaller {
  return {
    async call<Name extends CsiMethodName>(
      name: Name,
      request: CsiRequest<Name>,
      { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal },
    ) {
      const { encodeRequest, decodeResponse } = csiMethods[name] as GrpcMethod<CsiRequest<Name>, CsiResponse<Name>>
      const target = `/api/v1/nodes/${nodeName}/proxy/csi/${encodeURIComponent(driver)}/${name}?timeoutMs=${timeoutMs}`
      const late = new AbortController()
      const timer = clock.after(timeoutMs + graceMs, () => late.abort(new Error(`no answer after ${timeoutMs + graceMs} ms`)))
      const limits = [late.signal, ...(signal === undefined ? [] : [signal])]
      const body = Buffer.from(encodeRequest(request)).toString('base64')
      const asked = client.post(target, body, { signal: AbortSignal.any(limits) }).finally(() => timer.cancel())
      const text = await asked.catch((error: unknown) => {
        if (isNotFound(error)) throw new NodeIsGone(`node ${nodeName} is not there: ${errorMessage(error)}`, { cause: error })
        throw new GrpcError(grpcCodes.unavailable, `node ${nodeName} does not answer: ${errorMessage(error)}`)
      })
      const answer = JSON.parse(text) as Answer
      if ('code' in answer) throw new GrpcError(answer.code, answer.message)
      return decodeResponse(Buffer.from(answer.response, 'base64'))
    },
  }
}
