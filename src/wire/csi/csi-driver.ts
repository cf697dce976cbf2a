/** A CSI driver as somebody who calls it sees it: behind a socket, on another node, or in this process. */
import { type GrpcChannel, GrpcError, type GrpcHandler, grpcCodes } from '#base/grpc.ts'
import { csiMethods } from '#wire/csi/csi-messages.ts'
import type { CsiMethodName, CsiRequest, CsiResponse } from '#wire/csi/csi-types.ts'
import type { GrpcMethod } from '#wire/grpc-method.ts'

export type CsiCallOptions = { timeoutMs: number; signal?: AbortSignal }

/** Rejects with a `GrpcError` when the driver refuses or does not answer in time. */
export type CsiCaller = {
  call<Name extends CsiMethodName>(name: Name, request: CsiRequest<Name>, options: CsiCallOptions): Promise<CsiResponse<Name>>
}

/** What a driver answers; methods that are absent are not implemented. */
export type CsiService = { [Name in CsiMethodName]?: (request: CsiRequest<Name>) => Promise<CsiResponse<Name>> }

export function callerOver(channel: Pick<GrpcChannel, 'unary'>): CsiCaller {
  return {
    async call(name, request, options) {
      const { path, encodeRequest, decodeResponse } = methodOf(name)
      return decodeResponse(await channel.unary(path, encodeRequest(request), options))
    },
  }
}

export function callerOf(service: CsiService): CsiCaller {
  return {
    async call<Name extends CsiMethodName>(name: Name, request: CsiRequest<Name>) {
      const answer = service[name] as ((request: CsiRequest<Name>) => Promise<CsiResponse<Name>>) | undefined
      if (answer === undefined) throw new GrpcError(grpcCodes.unimplemented, `method ${name} is not implemented`)
      return answer.call(service, request)
    },
  }
}

/** For a server of gRPC. */
export function handlersOf(service: CsiService): Record<string, GrpcHandler> {
  const names = Object.keys(service) as CsiMethodName[]
  return Object.fromEntries(names.map((name) => [methodOf(name).path, { answer: (bytes) => answerBytes(callerOf(service), name, bytes) }]))
}

/** As they come from and go to elsewhere. */
export async function answerBytes(caller: CsiCaller, name: CsiMethodName, bytes: Uint8Array, timeoutMs = 120_000): Promise<Uint8Array> {
  const { decodeRequest, encodeResponse } = methodOf(name)
  return encodeResponse(await caller.call(name, decodeRequest(bytes), { timeoutMs }))
}

export const isCsiMethod = (name: string): name is CsiMethodName => Object.hasOwn(csiMethods, name)

const methodOf = <Name extends CsiMethodName>(name: Name) => csiMethods[name] as GrpcMethod<CsiRequest<Name>, CsiResponse<Name>>
