/**
 * `POST /csi/DRIVER/METHOD`: hands a call on to a CSI driver of this node, for whoever acts as its controller. Messages are those of CSI,
 * in base64; what the driver refuses comes back with its code.
 */
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { HttpExchange } from '#base/http-server.ts'
import { Refusal, respondJson } from '#kubelet/server/refusal.ts'
import { answerBytes, type CsiCaller, isCsiMethod } from '#wire/csi/csi-driver.ts'

export type CsiDoors = { find(driver: string): { caller: CsiCaller } | undefined }

const limitBytes = 4 * 1024 * 1024
const longestMs = 10 * 60_000

export async function csiCall(
  exchange: HttpExchange,
  [driver = '', method = '']: string[],
  query: URLSearchParams,
  doors: CsiDoors,
): Promise<void> {
  if (!isCsiMethod(method)) throw new Refusal(404, `CSI has no method ${method}`)
  const request = Buffer.from((await exchange.readBody(limitBytes)).toString(), 'base64')
  const found = doors.find(driver)
  try {
    if (found === undefined)
      throw new GrpcError(grpcCodes.unavailable, `driver name ${driver} not found in the list of registered CSI drivers`)
    const timeoutMs = Math.min(longestMs, Number(query.get('timeoutMs') ?? '') || 60_000)
    const response = await answerBytes(found.caller, method, request, timeoutMs)
    respondJson(exchange, { response: Buffer.from(response).toString('base64') })
  } catch (error) {
    const { code, message } = error instanceof GrpcError ? error : { code: grpcCodes.unknown, message: String(error) }
    respondJson(exchange, { code, message })
  }
}
