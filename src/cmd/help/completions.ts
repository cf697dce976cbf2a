import { bashCompletion } from '#cmd/help/bash-completion.ts'
import { commandTree } from '#cmd/help/command-tree.ts'
import { fishCompletion } from '#cmd/help/fish-completion.ts'
import { zshCompletion } from '#cmd/help/zsh-completion.ts'

const scriptOf = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion }

/** What a shell reads to complete the words of our own commands. */
export async function completionOf(shell: keyof typeof scriptOf): Promise<string> {
  return scriptOf[shell](await commandTree())
}
