// Has the specification take paths of the code: node replay.js path.itf.json... Each is a list of events (replay.qnt) in
// the Informal Trace Format. Of each path that it does not take, "FILE refused EVENT" is printed, with the number of the
// event and the state before it; the exit code is 1 then.
//
// Quint takes 20 ms to read one event in its own language. Here it takes none, for events are handed over as values: by
// functions from inside Quint, in the one version that package-lock.json names.
'use strict'
const fs = require('node:fs')
const path = require('node:path')
const either = require('@sweet-monads/either')
const inside = name => require('@informalsystems/quint/dist/src/' + name)
const { load, parse, typecheck } = inside('cliCommands')
const { toExpr } = inside('cliHelpers')
const { ofItfValue } = inside('itf')
const { prettyQuintEx } = inside('graphics')
const { format } = inside('prettierimp')
const { newRng } = inside('rng')
const { buildExpr } = inside('runtime/impl/builder')
const { Evaluator } = inside('runtime/impl/evaluator')
const { rv } = inside('runtime/impl/runtimeValue')
const { newTraceRecorder } = inside('runtime/trace')

// sure is what quint answers, unless it is an error.
function sure(answer) {
	if (answer.isRight()) return answer.value
	console.error(answer.value.msg ?? answer.value.message, answer.value.stage?.errors ?? '')
	process.exit(2)
}

// Replay is the specification on its way along a path.
class Replay {
	constructor(stages) {
		const rng = newRng()
		this.quint = new Evaluator(stages.resolver.table, newTraceRecorder(0, rng), rng)
		const built = name => buildExpr(this.quint.builder, sure(toExpr(stages, name)))
		this.init = built('init')
		this.follow = built('follow')
		this.view = built('view')
		this.event = this.quint.builder.varStorage.vars.find(v => v.name.endsWith('event'))
	}

	// happens has an action happen. False: it is not possible.
	happens(action) {
		const possible = sure(action(this.quint.ctx)).toBool()
		if (possible) this.quint.shift()
		return possible
	}

	// take follows a path to its end, or to the first event that is not possible, whose number it returns; else -1.
	take(events) {
		this.quint.reset()
		this.event.value = either.right(rv.mkInt(0n))
		this.happens(this.init)
		let id = 0n
		return events.findIndex(({ event }) => {
			this.event.value = either.right(rv.fromQuintEx(ofItfValue(event, () => id++)))
			return !this.happens(this.follow)
		})
	}

	state() {
		return format(120, 0, prettyQuintEx(rv.toQuintEx(sure(this.view(this.quint.ctx)))))
	}
}

async function main(files) {
	const input = path.join(__dirname, 'replay.qnt')
	const replay = new Replay(sure(await typecheck(sure(await parse(sure(await load({ input, main: 'replay' })))))))
	for (const file of files) {
		const refused = replay.take(JSON.parse(fs.readFileSync(file, 'utf8')).states)
		if (refused < 0) continue
		console.log(`${path.basename(file)} refused ${refused}\n${replay.state()}`)
		process.exitCode = 1
	}
}

main(process.argv.slice(2))
