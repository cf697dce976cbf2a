import { parseLabelSelector } from '#api/meta/selector.ts'
import type { ApiObject } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'

/** Which objects of files are meant: selected by their own labels. */
export function selectorTest(text: string): (object: ApiObject) => boolean {
  const trimmed = text.trim()
  if (trimmed === '') return () => true
  const selector = parsed(trimmed)
  return ({ metadata }) => selector.matches(metadata?.labels ?? {})
}

function parsed(text: string): ReturnType<typeof parseLabelSelector> {
  try {
    return parseLabelSelector(text)
  } catch (error) {
    throw new CliError(`the provided selector ${JSON.stringify(text)} is not valid: ${(error as Error).message}`)
  }
}
