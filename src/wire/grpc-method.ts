import { decodeMessage, encodeMessage, type MessageType } from '#wire/protobuf-messages.ts'

/** How the messages of a gRPC method are written and read, by either side. What is sent may leave out what is read as its zero value. */
export type GrpcMessages<Request, Response, SentRequest = Request, SentResponse = Response> = {
  encodeRequest(request: SentRequest): Uint8Array
  decodeRequest(bytes: Uint8Array): Request
  encodeResponse(response: SentResponse): Uint8Array
  decodeResponse(bytes: Uint8Array): Response
}

/** The path is the service's and the method's names: `/csi.v1.Node/NodeGetInfo`. */
export type GrpcMethod<Request, Response, SentRequest = Request, SentResponse = Response> = { readonly path: string } & GrpcMessages<
  Request,
  Response,
  SentRequest,
  SentResponse
>

export function grpcMessages<Request, Response, SentRequest = Request, SentResponse = Response>(
  request: MessageType,
  response: MessageType,
): GrpcMessages<Request, Response, SentRequest, SentResponse> {
  return {
    encodeRequest: (value) => encodeMessage(request, value as object),
    decodeRequest: (bytes) => decodeMessage(request, bytes) as Request,
    encodeResponse: (value) => encodeMessage(response, value as object),
    decodeResponse: (bytes) => decodeMessage(response, bytes) as Response,
  }
}

export function grpcMethod<Request, Response>(path: string, request: MessageType, response: MessageType): GrpcMethod<Request, Response> {
  return { path, ...grpcMessages(request, response) }
}
