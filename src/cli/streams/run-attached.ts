import type { ApiObject, Call } from '#cli/call.ts'
export async function runAttached(_call: Call, _pod: ApiObject): Promise<void> {
  throw new Error('attach is not here yet')
}
