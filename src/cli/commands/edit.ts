import type { Call } from '#cli/call.ts'
export async function editAndCreate(_call: Call): Promise<void> {
  throw new Error('not yet')
}
