package main

// commands is the table of what leslie can do, in the order of help.
func commands() []*command {
	return []*command{
		initCommand(),
		objectiveCreateCommand(), objectiveListCommand(), objectiveStatusCommand(), objectiveDoneCommand(),
		spawnCommand(), updateCommand(), listCommand(), statusCommand(), artifactsCommand(), contextCommand(),
		referenceCommand(), referenceListCommand(), referenceShowCommand(), referenceRefreshCommand(), referenceRemoveCommand(),
		lifecycleCommand(), doneCommand(), cancelCommand(), suspendCommand(), resumeCommand(), archiveCommand(),
		claimCommand(), renewCommand(), releaseCommand(), injectCommand(),
		mergeCommand(), mergeListCommand(), mergeStatusCommand(), mergeResolveCommand(), mergeContinueCommand(), mergeAbortCommand(),
		mergeFileCommand(),
		transferCommand(), approvalsCommand(), approveCommand(), denyCommand(), revokeCommand(), canCommand(),
		historyCommand(), observeCommand(), waitCommand(), undoCommand(), checkpointCommand(), rollbackCommand(), batchCommand(), logsCommand(), statsCommand(), doctorCommand(), explainCommand(),
	}
}

// threadOperand is the operand of the thread commands: left out, it is the
// thread that the call speaks for.
func threadOperand() operandSpec {
	return operandSpec{name: "ID", kind: kindID, speaks: true}
}
